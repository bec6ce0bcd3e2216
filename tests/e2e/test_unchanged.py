"""What a traced program does is what it does untraced: CPython's own tests, torch, and other tools that hook in."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from interpreters import EXPECTED, cache, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
MODULES = [f"test.{name}" for name in (
    "test_generators", "test_coroutines", "test_contextlib", "test_functools",
    "test_asyncio.test_locks", "test_asyncio.test_queues")]
SECONDS = 120


@contextlib.contextmanager
def suite(label):
    """A folder with tests of that interpreter's own, where it sees them."""
    own = cache() / "suites" / label
    if not own.is_dir():
        pytest.skip(f"no tests of CPython's own for {label} could be had (tools/interpreters)")
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder:
        os.chmod(folder, 0o755)
        shutil.copytree(own, folder, dirs_exist_ok=True)
        shutil.copy(ROOT / "tests" / "targets" / "suite.py", folder)
        yield folder


def begin(label, folder, *prefix):
    return subprocess.Popen([*prefix, *require(label).command(f"{folder}/suite.py", *MODULES)], cwd=folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder})


def outcomes(process):
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize("label", EXPECTED)
def test_cpythons_own_tests_end_as_without_us(label):
    with suite(label) as folder, tempfile.TemporaryDirectory() as own:
        with begin(label, folder) as plain, begin(
                label, folder, LEADLINE, "run", "--trace", "--report=/dev/null", "-o", f"{own}/x.lead", "--") as traced:
            plain, traced = outcomes(plain), outcomes(traced)
    assert sum(outcome == "passed" for outcome in plain.values()) > 400
    assert {test: outcome for test, outcome in traced.items() if outcome != plain[test]} == {}
    assert traced.keys() == plain.keys()
