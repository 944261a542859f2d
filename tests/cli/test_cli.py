# SPDX-License-Identifier: MIT
"""What every command shares: exit codes, one line on stderr, only results on stdout, help, completion."""
import re
import subprocess

import pytest

from paths import PLUMB, SOURCE
from program import Program

plumb = Program()
COMMANDS = re.findall(r"^  ([a-z]+) +\S", subprocess.run([PLUMB, "--help"], capture_output=True, text=True).stdout, re.M)


def one_line(*arguments, code=2):
    """Fails with one line on stderr, which is returned, and nothing on stdout."""
    done = plumb.run(*arguments, code=code, stdin=subprocess.DEVNULL)
    assert done.stdout == "" and done.stderr.count("\n") == 1, f"{done.stdout!r} {done.stderr!r}"
    return done.stderr


def to_full_disk(*arguments):
    """Exit code and stderr where stdout cannot be written."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([PLUMB, *arguments], stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    return done.returncode, done.stderr


def test_plumb_alone_prints_its_usage_on_stderr():
    done = plumb.run(code=2)
    assert "usage" in done.stderr and done.stdout == ""


def test_help_names_the_commands():
    assert "measure" in plumb.run("--help").stdout
    assert len(COMMANDS) >= 4, COMMANDS


def test_version_names_the_commit_and_the_manual_is_printed():
    assert re.fullmatch(r"plumb \d+\.\d+\.\d+(\.dev)?( \([0-9a-f]+(-dirty)?\))?\n", plumb.run("--version").stdout)
    assert ".TH PLUMB 1" in plumb.run("--manual").stdout


@pytest.mark.parametrize("typed, completed", [
    (["mea"], "measure"), (["measure", "--max-o"], "--max-order"), (["measure", "--mode", "re"], "reference"), (["measure", "x"], "")])
def test_bash_completes(typed, completed, tmp_path):
    script = tmp_path / "complete"
    script.write_text(plumb.run("--completion").stdout)
    done = subprocess.run(["bash", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plumb; echo "${COMPREPLY[*]}"',
                           script, "plumb", *typed], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == completed


def test_an_unknown_command_is_refused_with_the_nearest_one():
    assert "did you mean plumb measure?" in one_line("mesure")
    assert "plumb --help" in one_line("entirely-unknown")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    done = plumb.run(command, "--help")
    for words in (f"usage: plumb {command}", "example:", f"  plumb {command}"):
        assert words in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_unknown_options(command):
    assert f"plumb {command}: there is no option --no-such-option" in one_line(command, "--no-such-option")
    assert "did you mean --json?" in one_line(command, "--jsno")
    one_line(command, "-9")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_that_cannot_be_written_is_a_failure(command):
    assert to_full_disk(command, "--help")[0] == 1


@pytest.mark.parametrize("command", ["measure", "forecast"])
def test_a_missing_file_is_named(command, tmp_path):
    said = one_line(command, tmp_path / "missing.npz", code=1)
    assert f"plumb {command}: " in said and "missing.npz" in said


def test_wrong_values_of_options_are_refused():
    assert "five" in one_line("measure", "--max-order", "five", "x.npz")
    one_line("measure", "--max-order")
    assert "did you mean reference?" in one_line("measure", "--mode", "refrence", "x.npz")
    one_line("doctor", "surplus")


@pytest.mark.parametrize("arguments", ["doctor", "doctor --json", "demo", "demo --json"])
def test_results_that_cannot_be_written_are_a_failure(arguments, inside, monkeypatch):
    # A share without trained models: the demo is quick then.
    (inside / "examples").symlink_to(SOURCE / "examples")
    monkeypatch.setenv("PLUMB_SHARE", str(inside))
    code, said = to_full_disk(*arguments.split())
    assert code == 1 and said.count("\n") == 1, said


def test_a_closed_stdout_is_a_failure():
    done = subprocess.run(f'"{PLUMB}" doctor >&-', shell=True, stderr=subprocess.PIPE)
    assert done.returncode == 1


# ---- width ----

SAMPLE = SOURCE / "examples/latents/good.npz"


@pytest.mark.parametrize("arguments", [["--help"], ["worlds"], ["doctor"], ["measure", SAMPLE], ["surprise", "--example"],
                                       ["report", "--figures"], ["train", "hgn++", "--settings"],
                                       *(["help", command] for command in COMMANDS)], ids=lambda words: " ".join(map(str, words[:2])))
def test_text_fits_80_columns(arguments, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    wide = [line for line in plumb.run(*arguments).stdout.splitlines() if len(line) > 80]
    assert not wide, "\n".join(wide)


@pytest.mark.parametrize("command", [("worlds",), ("doctor",), ("train", "ode", "--preset", "tiny", "--plan"), ("train", "ode", "--settings")],
                         ids=lambda command: " ".join(command))
def test_every_table_has_its_formats(command):
    md, latex, csv = (Program().run(*command, "--format", form).stdout for form in ("md", "latex", "csv"))
    assert md.lstrip().splitlines()[0].startswith("|") or "\n| " in md
    assert "\\begin{tabular}" in latex and csv.startswith("key,value,low,high\n") and csv.count("\n") > 5
    assert "|---|---|---|---|\n\n" not in md, "a table without a row"
