# SPDX-License-Identifier: MIT
"""LGN, ODE, RGN and AR as a user runs them, after a step or two: trained, gone on with, judged and rolled out."""
import json
import math
import os
import struct
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests", "support"))
from program import Program  # noqa: E402

plumb = Program()
check = plumb.check

# Every choice of a setting is listed, however many there are.
rows = {row["name"]: row for row in plumb.answer("train", "hgn++", "--settings")["settings"]}
check(rows["kinetic"]["takes"].endswith("|graded_masses"), f"kinetic takes {rows['kinetic']['takes']}")


def array(path, name):
    """Shape and numbers of an array of an .npz file."""
    with zipfile.ZipFile(path) as z:
        raw = z.read(name + ".npy")
    length = struct.unpack("<H", raw[8:10])[0]
    header = eval(raw[10:10 + length].decode(), {"__builtins__": {}}, {"True": True, "False": False})
    kind = {"<f4": "f", "<f8": "d", "|u1": "B"}[header["descr"]]
    shape = header["shape"]
    return shape, struct.unpack(f"<{math.prod(shape)}{kind}", raw[10 + length:])


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    quick = ("--world", "mass-spring", "--preset", "tiny", "--set", "decay=constant")
    few = ("--count", 2, "--steps", 5, "--measured", 10, "--method", "pr")
    plumb.run("train", "hgn++", *quick, "--steps", 2, "--out", folder / "hgn++")
    plumb.run("rollout", folder / "hgn++", "--out", folder / "hgn++.npz", "--count", 2, "--steps", 12)
    _, frames = array(folder / "hgn++.npz", "frames")
    _, truth = array(folder / "hgn++.npz", "truth")
    begins = {"lgn": 0, "ode": 0, "rgn": 2, "ar": 1}  # of a window of three frames

    for model, begin in begins.items():
        run = folder / model
        trained = plumb.answer("train", model, *quick, "--steps", 2, "--out", run)
        check(trained["model"] == model and trained["steps"] == 2, f"{model} {trained}")
        plumb.run("train", model, *quick, "--steps", 1, "--out", folder / "parts", "--force")
        plumb.run("train", model, "--steps", 2, "--out", folder / "parts", "--resume")
        check((run / "weights.safetensors").read_bytes() == (folder / "parts/weights.safetensors").read_bytes(),
              f"{model}: a run that went on is another one")

        got = plumb.answer("evaluate", run, *few)
        one_way = begin > 0
        check(got["model"] == model and got["vpt_forward"] is not None, f"{model} {got}")
        check((got["vpt_backward"] is None) == one_way, f"{model}: backward {got['vpt_backward']}")
        check((got["forecast"]["backward"] is None) == one_way, f"{model}: {got['forecast']['backward']}")
        check(got["pr"]["steps"] == 60 and 0 <= got["kappa"] <= 1, f"{model}: {got['pr']}")
        table = plumb.run("evaluate", run, *few).stdout
        check(("cannot be run backward in time" in table) == one_way, f"{model}: {table}")

        out = folder / f"{model}.npz"
        plumb.run("rollout", run, "--out", out, "--count", 2, "--steps", 12)
        told = 12 - begin
        for name, width in (("latent", 4), ("truth", 2)):
            shape, _ = array(out, name)
            check(shape == (2, told, width), f"{model}: {name} {shape}")
        # What is told stands beside the frames and states it is told of.
        pixels = 32 * 32 * 3
        for name, whole, width in (("frames", frames, pixels), ("truth", truth, 2)):
            _, got = array(out, name)
            want = tuple(x for film in (0, 1) for x in whole[(12 * film + begin) * width:12 * (film + 1) * width])
            check(got == want, f"{model}: {name} of other frames")
        with zipfile.ZipFile(out) as z:
            check(("momenta.npy" in z.namelist()) == (model == "lgn"), f"{model}: {z.namelist()}")
        if one_way:
            plumb.complaint("cannot be run backward", "rollout", run, "--backward", "--out", out, code=2)
        else:
            plumb.run("rollout", run, "--backward", "--out", out, "--count", 2, "--steps", 12)

    # dL/dv = M(q) v with M = U'U + 1: along v it is never less than v itself.
    (n, steps, m), momenta = array(folder / "lgn.npz", "momenta")
    _, latent = array(folder / "lgn.npz", "latent")
    for row in range(n * steps):
        v, p = latent[(2 * row + 1) * m:(2 * row + 2) * m], momenta[row * m:(row + 1) * m]
        along, square = sum(a * b for a, b in zip(v, p)), sum(a * a for a in v)
        check(along >= square * (1 - 1e-5) > 0, f"v p = {along}, v v = {square}")

    # HGN rebuilds what it sees and was trained to predict no more.
    plumb.run("train", "hgn", *quick, "--steps", 1, "--out", folder / "hgn")
    hgn = plumb.answer("evaluate", folder / "hgn", *few)
    check(hgn["model"] == "hgn" and hgn["vpt_backward"] is not None, f"hgn {hgn}")

    # Settings that mean nothing to a model are not among its own.
    for model, setting in (("ode", "kinetic=pure_quad"), ("rgn", "direction=forward_backward"), ("ar", "beta=2"), ("lgn", "residual=on")):
        plumb.complaint(setting.split("=")[0], "train", model, *quick, "--set", setting, "--out", folder / "no", code=2)
    plumb.complaint("potential=pure_quad is a form of kinetic energy", "train", "hgn++", *quick, "--set", "potential=pure_quad", "--out", folder / "no", code=2)
    plumb.complaint("sizes=on", "train", "hgn++", *quick, "--set", "colours=0.5", "--out", folder / "no", code=2)
    plumb.complaint("backward", "train", "rgn", *quick, "--set", "split=include_inference", "--out", folder / "no", code=2)
    plan = plumb.answer("train", "rgn", *quick, "--plan")
    check(plan["model"] == "rgn", f"{plan}")
    config = json.loads((folder / "lgn/config.json").read_text())
    check(config["settings"]["integrator"] == "rk2" and "kinetic" not in config["settings"], f"{config}")

sys.exit(plumb.failures > 0)
