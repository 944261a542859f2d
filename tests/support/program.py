# SPDX-License-Identifier: MIT
"""Runs plumb as a user would."""
import json
import subprocess

from paths import PLUMB


class Program:
    """plumb with the words that come first, as in Program("measure")."""

    def __init__(self, *words, path=PLUMB):
        self.path, self.words = path, words

    def command(self, *arguments):
        return [self.path, *self.words, *map(str, arguments)]

    def run(self, *arguments, code=0, **how):
        """Runs it and wants that exit code."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, **how)
        assert done.returncode == code, f"{self.command(*arguments)} exits {done.returncode}, not {code}: {done.stderr[-1500:]}"
        return done

    def answer(self, *arguments, code=0, **how):
        """What it prints with --json: one line with one object."""
        done = self.run(*arguments, "--json", code=code, **how)
        assert done.stdout.count("\n") == 1, f"{arguments} prints {done.stdout!r}"
        return json.loads(done.stdout)

    def refused(self, words, *arguments, code=1, **how):
        """It fails with nothing on stdout and one line on stderr that names the command and holds the words."""
        done = self.run(*arguments, code=code, **how)
        assert done.stdout == "", f"{arguments} prints {done.stdout!r}"
        lines = without_cost(done.stderr)
        name = [str(word) for word in (*self.words, *arguments)][0]
        assert len(lines) == 1 and lines[0].startswith(f"plumb {name}: ") and words in lines[0], \
            f"{arguments} says {done.stderr!r}, wanted {words!r}"


def without_cost(stderr):
    """The lines on stderr that are no progress and do not say what the work will take."""
    return [line for line in stderr.splitlines()
            if not any(words in line for words in (" % after ", ": about ", " will be written"))]


def numbers(record, *without):
    """A record without its times and without the keys named, at every level."""
    if not isinstance(record, dict):
        return record
    return {key: numbers(value, *without) for key, value in record.items() if key not in ("seconds", *without)}
