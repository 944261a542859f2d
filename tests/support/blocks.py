# SPDX-License-Identifier: MIT
"""The code blocks of a Markdown page, and how they are run: in order, in one directory, the Python blocks in one interpreter."""
import json
import os
import re
import subprocess
import sys
from collections import namedtuple

Block = namedtuple("Block", "language code line")  # the line of its first line of code

# Runs in a process of its own: takes one block after the other, says what it printed and whether it failed.
DRIVER = r"""
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for request in sys.stdin:
    block = json.loads(request)
    out, failed = io.StringIO(), False
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            exec(compile("\n" * (block["line"] - 1) + block["code"], block["page"], "exec"), names)
        except BaseException:
            failed = True
            traceback.print_exc()
    print(json.dumps([failed, out.getvalue()]), flush=True)
"""


def blocks(text):
    """The fenced blocks of a page; an indented fence belongs to a list and counts too."""
    found, opened = [], None
    for number, line in enumerate(text.split("\n"), 1):
        fence = re.match(r"^( *)(`{3,}|~{3,})\s*([\w+-]*)", line)
        if opened is None and fence:
            opened = (fence, number, [])
        elif opened and re.match(rf"^ *{opened[0].group(2)[0]}{{{len(opened[0].group(2))},}} *$", line):
            indent = len(opened[0].group(1))
            found.append(Block(opened[0].group(3), "\n".join(part[indent:] for part in opened[2]) + "\n", opened[1] + 1))
            opened = None
        elif opened:
            opened[2].append(line)
    return found


class Failure(AssertionError):
    pass


class Runner:
    """Runs blocks marked sh or python in a directory."""

    def __init__(self, page, folder, environment):
        self.page, self.folder, self.environment, self.python = page, folder, environment, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.python:
            self.python.stdin.close()
            self.python.wait()
            self.python.stdout.close()

    def fail(self, block, how, output):
        raise Failure(f"{self.page}:{block.line}: the block {how}\n\n{block.code}\n---- it printed ----\n{output[-3000:]}")

    def run(self, block):
        """Whether it was run at all."""
        if block.language == "sh":
            done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", block.code], cwd=self.folder, env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                self.fail(block, f"exits {done.returncode}", done.stdout)
        elif block.language == "python":
            if not self.python:
                self.python = subprocess.Popen([sys.executable, "-c", DRIVER], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE,
                                               stdout=subprocess.PIPE, text=True)
            self.python.stdin.write(json.dumps({"code": block.code, "line": block.line, "page": str(self.page)}) + "\n")
            self.python.stdin.flush()
            answer = self.python.stdout.readline()
            failed, output = json.loads(answer) if answer else (True, "the interpreter ended")
            if failed:
                self.fail(block, "fails", output)
        else:
            return False
        return True


def run_page(path, name, folder, environment=os.environ):
    """Runs a page's blocks in order; how many were run."""
    with Runner(name, folder, environment) as runner:
        return sum(runner.run(block) for block in blocks(path.read_text()))
