# SPDX-License-Identifier: MIT
"""The plumb program that belongs to this package: for what starts processes of its own, and for `python -m plumb`."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

from ._native import MissingError, PlumbError, RangeError, StoppedError

EXIT_USAGE, EXIT_STOPPED = 2, 75


def find_program():
    """The path of the program: in the package, next to the library, or on the PATH."""
    library = os.environ.get("PLUMB_LIBRARY")
    places = [Path(__file__).parent / "bin" / "plumb"]
    if library:
        places.append(Path(library).resolve().parent.parent / "bin" / "plumb")
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    found = shutil.which("plumb")
    if not found:
        raise MissingError("the program plumb is neither in the package nor on the PATH; install the package with pip")
    return found


def run_program(*arguments):
    """Runs a command and gives what it prints. Ctrl-C reaches it, and it saves its work before it ends."""
    process = subprocess.Popen([find_program(), *map(os.fspath, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        out, error = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
    if process.returncode:
        lines = [line for line in error.splitlines() if line.startswith("plumb")] or error.splitlines() or [f"exit code {process.returncode}"]
        kind = {EXIT_USAGE: RangeError, EXIT_STOPPED: StoppedError}.get(process.returncode, PlumbError)
        raise kind(lines[-1].partition(": ")[2] or lines[-1])
    return out


def main():
    """`python -m plumb` and the command `plumb` of the package."""
    import sys
    try:
        program = find_program()
    except MissingError as why:
        sys.exit(f"plumb: {why}")
    os.execv(program, [program, *sys.argv[1:]])
