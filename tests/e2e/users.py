"""Two ordinary users who do not trust each other, for tests that root runs: programs as one of them, files of the other.

They need no account: a number is enough for the kernel. What they are to reach must lie outside root's own folders, so
`open_folder` makes one in /tmp that everyone may enter.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ALICE = 61001
BOB = 61002

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become two other users")


def as_user(uid, environment=None):
    """Keyword arguments for subprocess that start a program as that user, with nothing of root's in its environment."""
    own = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", **(environment or {})}
    return {"user": uid, "group": uid, "extra_groups": [], "env": own, "cwd": "/"}


def run_as(uid, *command, environment=None, **kwargs):
    """subprocess.run as that user; what it prints is text."""
    kwargs = {"capture_output": True, "text": True, "timeout": 60, "check": False, **as_user(uid, environment), **kwargs}
    return subprocess.run([str(c) for c in command], **kwargs)


@contextlib.contextmanager
def open_folder(uid=0, mode=0o755):
    """A folder of that user's directly in /tmp, removed afterwards (pytest's own are closed to everyone but root)."""
    folder = Path(tempfile.mkdtemp(prefix="leadline-test-", dir="/tmp"))
    os.chown(folder, uid, uid)
    folder.chmod(mode)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
