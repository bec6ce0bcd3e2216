"""The programs that other tools' formats are checked with (tools/consumers); what is missing is skipped, by name."""
import functools
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@functools.lru_cache(maxsize=None)
def folder():
    cache = subprocess.run([str(ROOT / "tools" / "setup"), "--cache"], capture_output=True, text=True, check=True)
    return pathlib.Path(cache.stdout.strip()) / "consumers"


def program(name):
    """One of the cache's own, else of the PATH."""
    own = folder() / "bin" / name
    found = str(own) if os.access(own, os.X_OK) else shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not there: run tools/consumers")
    return found


def data(name):
    path = folder() / name
    if not path.exists():
        pytest.skip(f"{name} is not there: run tools/consumers")
    return path


def output(name, *args, **kwargs):
    """What the program prints; its failure is ours."""
    r = subprocess.run([program(name), *map(str, args)], capture_output=True, text=True, timeout=60, **kwargs)
    assert r.returncode == 0, r.stderr
    return r.stdout


def python(code, *args):
    """Runs code in the environment that has their Python packages."""
    data("consumers.txt")
    return output("python", "-c", code, *args)
