# SPDX-License-Identifier: MIT
"""Programs that are started, watched and stopped by a test."""
import subprocess
import time

from paths import SANITIZE

SLOW = 5 if SANITIZE else 1  # how much longer things may take under a sanitizer


def wait_until(condition, seconds=60):
    """Whether it became true in time."""
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def start(*command, **how):
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def log_lines(run):
    """How many lines the log of a run has."""
    path = run / "log.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
