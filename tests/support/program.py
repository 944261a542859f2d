# SPDX-License-Identifier: MIT
"""What tests that run the program share: run it as a user would, and count what is wrong."""
import json
import os
import subprocess


class Program:
    """plumb with the words that come first, as in Program("measure")."""

    def __init__(self, *words):
        self.words = words
        self.failures = 0

    def check(self, right, what):
        if not right:
            self.failures += 1
            print("FAILED:", what)

    def run(self, *arguments, code=0, **how):
        done = subprocess.run([os.environ["PLUMB"], *self.words, *map(str, arguments)], capture_output=True, text=True, **how)
        self.check(done.returncode == code, f"{arguments} exits {done.returncode}: {done.stderr}")
        return done

    def answer(self, *arguments, code=0):
        done = self.run(*arguments, "--json", code=code)
        self.check(done.stdout.count("\n") == 1, f"{arguments} prints {done.stdout!r}")
        return json.loads(done.stdout)

    def complaint(self, words, *arguments, code=1, **how):
        """It fails with nothing on stdout and one line on stderr that names the command and holds the words."""
        done = self.run(*arguments, code=code, **how)
        self.check(done.stdout == "", f"{arguments} prints {done.stdout!r}")
        # Where the machine is slow, progress comes first; it is not part of the complaint.
        lines = [line for line in done.stderr.splitlines() if " % after " not in line]
        name = (*self.words, *arguments)[0]
        self.check(len(lines) == 1 and lines[0].startswith(f"plumb {name}: ") and words in lines[0],
                   f"{arguments} says {done.stderr!r}, wanted {words!r}")
