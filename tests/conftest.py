"""What all tests share: where the built tool is, and how to run it."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

LEADLINE = os.environ.get("LEADLINE", str(ROOT / "build" / "leadline"))
LEADLINE_ASAN = os.environ.get("LEADLINE_ASAN", str(ROOT / "build-asan" / "leadline"))
RETRYING = str(pathlib.Path(LEADLINE).parent / "tests" / "leadline_retrying")
STORM = str(pathlib.Path(LEADLINE).parent / "tests" / "storm")


# Under nohup or in the background they would be ignored, and so by every program the tests start.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


pytest_plugins = ["measured"]


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: looks at the machine as a whole, or needs its share of it: runs beside no other test")


# Files that take longest for the number of their tests: xdist begins with those that have most, and would end with these.
LONGEST = ("test_page.py", "test_linetable.py", "test_churn.py", "test_wheel_installed.py", "test_wheel.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Files as units of work, the longest first, so that no worker is left alone with one of them at the end."""
    from xdist.scheduler import LoadFileScheduling

    place = {name: i for i, name in enumerate(LONGEST)}

    class LongestFirst(LoadFileScheduling):
        def _assign_work_unit(self, node):
            first = min(self.workqueue, key=lambda scope: place.get(scope.rpartition("/")[2], len(place)))  # of equal ones the first
            self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return LongestFirst(config, log) if config.getvalue("dist") == "loadfile" else None


class Tool:
    """Runs leadline; keyword arguments go to subprocess.run."""

    binary = LEADLINE
    storm = STORM

    def __init__(self, tmp_path):
        self.tmp = tmp_path

    def __call__(self, *args, **kwargs):
        kwargs.setdefault("capture_output", True)
        kwargs.setdefault("text", True)
        kwargs.setdefault("timeout", 60)
        return subprocess.run([self.binary, *map(str, args)], **kwargs)

    def time_json(self, *args, **kwargs):
        """`leadline time --json=FILE ARGS`: the parsed JSON; stdout, stderr and status are checked by the caller
        through `last`."""
        out = self.tmp / "time.json"
        self.last = self("time", "--force", f"--json={out}", *args, **kwargs)
        return json.loads(out.read_text())


@pytest.fixture
def tool(tmp_path):
    return Tool(tmp_path)


@pytest.fixture(scope="session")
def binary():
    assert os.access(LEADLINE, os.X_OK), f"{LEADLINE} is missing: run 'make build'"
    return LEADLINE


@contextlib.contextmanager
def running(*command, **kwargs):
    """A program that has printed its first line; it is ended afterwards."""
    p = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True, **kwargs)
    try:
        assert p.stdout.readline() == "ready\n"
        yield p
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


def wait_until(condition, what="the condition", seconds=30):
    """For what announces itself by no event of its own: the state of a process, the length of a file."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        time.sleep(0.02)


def wait_for_bytes(path, n):
    wait_until(lambda: path.exists() and path.stat().st_size >= n, f"{path} of {n} bytes")
