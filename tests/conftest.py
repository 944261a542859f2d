# SPDX-License-Identifier: MIT
"""What all pytest files share: the paths of the build, a working folder, and how a run ends.

A file whose cases are all skipped exits with 77, which ctest shows as skipped. Nothing is written into the source tree.
"""
import shutil
import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True
# A shell starts background jobs with SIGINT ignored, and programs inherit that. Tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))

import pytest  # noqa: E402

from paths import LONG, SANITIZE  # noqa: E402

SKIPPED = 77
# make test-long runs every file that has one of these marks again, with PLUMB_LONG.
MARKS = {"long": "minutes: only make test-long runs it", "slow": "many seconds under a sanitizer: there only make test-long runs it"}
passed = 0


def pytest_configure(config):
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_collection_modifyitems(items):
    for item in items:
        for name in () if LONG else ("long", "slow") if SANITIZE else ("long",):
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=MARKS[name]))


def pytest_runtest_logreport(report):
    global passed
    passed += report.when == "call" and report.passed


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.OK and session.testscollected and not passed:
        session.exitstatus = SKIPPED
    # Modules that skip as a whole are collected as no test at all.
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and reporter and reporter.stats.get("skipped"):
        session.exitstatus = SKIPPED
    base = session.config.option.basetemp
    if base and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder for files that the cases of one file share."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """An empty folder that is also the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
