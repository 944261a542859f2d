# SPDX-License-Identifier: MIT
"""plumb report as a user runs it: pages and figures of runs, directories, records and arrays; and what it refuses."""
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests", "support"))
from program import Program  # noqa: E402

plumb, report = Program(), Program("report")
check = report.check
folder = Path(tempfile.mkdtemp())
samples = Path(os.environ["PLUMB_SOURCE"]) / "examples/latents"
page = folder / "x.html"


def verdicts(path):
    return re.findall(r'class="verdict (\w*)"', path.read_text())


# ---- arrays: measured, and the verdicts are the known ones ----
answer = report.answer(samples / "good.npz", samples / "bad.npz", samples / "cheat.npz", "--out", page)
check(list(answer)[:2] == ["file", "figures"] and answer["file"] == str(page), f"keys {answer}")
check(verdicts(page) == ["yes", "no", "no"], f"verdicts {verdicts(page)}")
text = page.read_text()
check(not re.search(r'(src|href)="?(https?:|//)', text) and "@import" not in text, "the page names an address")
for name in ("phase-space", "trajectory"):
    for suffix in ("svg", "png"):
        out = folder / f"{name}.{suffix}"
        answer = report.answer(samples / "good.npz", "--figure", name, "--out", out)
        check(answer["figures"] == [name], f"figures {answer}")
        data = out.read_bytes()
        check(data[:4] == b"\x89PNG" if suffix == "png" else ElementTree.fromstring(data).tag.endswith("svg"), f"{out.name}")
again = folder / "again.html"
report.run(samples / "good.npz", samples / "bad.npz", samples / "cheat.npz", "--out", again, "--threads", 1)
strip = lambda t: re.sub(r"seconds[^<]*", "", t)
check(strip(again.read_text()) == strip(text), "the same input gives another page")

# ---- runs ----
run = folder / "runs/one"
run.parent.mkdir()
plumb.run("train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 30, "--out", run)
report.run(run, "--out", page)
check("not yet judged" in page.read_text() and verdicts(page) == [""], "a run that was not evaluated")
plumb.run("evaluate", run, "--count", 2, "--steps", 20, "--measured", 6)
before = {p.name: p.read_bytes() for p in run.iterdir()}
answer = report.answer(run, "--out", page)
check({"trajectory", "film", "error", "loss"} <= set(answer["figures"]), f"figures of a run: {answer}")
check({p.name: p.read_bytes() for p in run.iterdir()} == before, "a report changes the run")
check("<h2 id=m0>one</h2>" in page.read_text() and "id=rollout" in page.read_text(), "the page of a run")
answer = report.answer(run, "--films", 0, "--out", page)
check("film" not in answer["figures"] and "loss" in answer["figures"], f"--films 0: {answer}")
plumb.run("train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 20, "--out", folder / "runs/two")
report.run(folder / "runs", "--films", 2, "--steps", 30, "--out", page)
check(page.read_text().count("<section>") == 2 and "id=overview" in page.read_text(), "a directory of runs")
report.run(run, "--name", "a <name>", "--films", 0, "--out", page)
check("a &lt;name&gt;" in page.read_text(), "--name")

# ---- records ----
lines = folder / "results.jsonl"
record = {"r2": 0.99, "sym": 0.01, "symetric": 1}
lines.write_text("".join(json.dumps({"run": f"runs/m{i}", **record, "vpt": 10 * i}) + "\n" for i in range(4)))
answer = report.answer(lines, "--out", page)
check("models" in answer["figures"] and "m3" in page.read_text(), f"records {answer}")
check("correlation" not in answer, f"measures that do not vary correlate with nothing: {answer}")
lines.write_text("".join(json.dumps({"run": f"m{i}", **record, "kappa": k, "r2": -k, "vpt": 10 * i}) + "\n"
                         for i, k in enumerate((0.1, 0.3, 0.2, 0.9, 0.8))))
answer = report.answer(lines, "--out", page)["correlation"]
check(abs(answer["kappa"]["all"]["rho"] - 0.8) < 1e-12 and abs(answer["r2"]["all"]["rho"] + 0.8) < 1e-12 and "sym" not in answer,
      f"correlations {answer}")
check(answer["kappa"]["best"] == {"models": 0, "rho": None, "rho_ci": None}, f"of one model there is no correlation: {answer}")
table = report.run(lines, "--out", page).stdout
check(re.search(r"kappa +\+0\.80 .*of 5 +-", table) and "0.59 (0.41)" in table, f"the table {table}")
done = plumb.run("demo", "--json")
(folder / "demo.json").write_text(done.stdout)
report.run(folder / "demo.json", "--out", page)
check(sorted(verdicts(page)) == ["no", "no", "yes"], "the record of the demo")

# ---- what it refuses; an old page stays ----
page.write_text("old")
report.complaint("--out is missing", run, code=2)
report.complaint("wants a run", "--out", page, code=2)
report.complaint("no such file", folder / "nowhere", "--out", page)
report.complaint("is for one file", run, run, "--name", "x", "--out", page, code=2)
report.complaint("neither .svg nor .png", samples / "good.npz", "--figure", "phase-space", "--out", folder / "x.pdf")
report.complaint("not enough", samples / "good.npz", "--figure", "film", "--out", folder / "x.svg")
report.complaint("no figure", samples / "good.npz", "--figure", "flim", "--out", folder / "x.svg")
(folder / "empty").mkdir()
report.complaint("neither a run", folder / "empty", "--out", page)
lines.write_text('{"r2": 1, "sym"')
report.complaint("results", lines, "--out", page)
lines.write_text('{"weather": "fine"}\n')
report.complaint("not one of plumb's", lines, "--out", page)
lines.write_text("")
report.complaint("holds no record", lines, "--out", page)
(run / "results.json").write_text("{")
report.complaint("", run, "--out", page)
report.complaint("", samples / "good.npz", "--out", folder / "no/such/place.html")
check(page.read_text() == "old", "a failure changes the page that was there")
check(not list(folder.glob("*.part-*")), "leavings")
done = report.run("--figures")
check("phase-space" in done.stdout and "Film strips" in done.stdout, "--figures")
report.run("--figure", "example", "--out", folder / "example.svg")

print("all is well" if not report.failures + plumb.failures else "failed")
sys.exit(bool(report.failures + plumb.failures))
