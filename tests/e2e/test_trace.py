"""Exact calls: what `run --trace` records, on every interpreter, against what the program itself knows."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from interpreters import EXPECTED, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
NODES = LEADLINE.parent / "tests" / "nodes"
SECONDS = 60


class Trace:
    """A recording as targets/nodes.c prints it."""

    def __init__(self, path, result):
        said = json.loads(subprocess.run([NODES, path], check=True, stdout=subprocess.PIPE, timeout=SECONDS).stdout)
        self.result = result
        self.nodes, self.meta, self.losses = said["nodes"], said["meta"], said["losses"]
        self.by_id = {node["id"]: node for node in self.nodes}

    def calls(self, name):
        return sum(node["calls"] for node in self.nodes if node["name"] == name)

    def resumes(self, name):
        return sum(node["resumes"] for node in self.nodes if node["name"] == name)


def trace(label, source, *options, arguments=(), check=True):
    """Runs a program under --trace with that interpreter."""
    interpreter, shared = require(label), shared_folder(label)
    with tempfile.TemporaryDirectory(dir=shared) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        script = Path(folder) / "program.py"
        script.write_text(source)
        result = subprocess.run(
            [LEADLINE, "run", "--trace", "-o", f"{own}/x.lead", *options, "--", *interpreter.command(str(script), *arguments)],
            env={**os.environ, "TMPDIR": shared}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS,
        )
        if check:
            assert result.returncode == 0, result.stderr
        return Trace(f"{own}/x.lead", result)


PLAIN = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers():
    for i in range(3):
        yield i

class Counter:
    def step(self, x):
        return abs(x) + len("abc")

print(fib(12), list(numbers()))
counter = Counter()
for i in range(100):
    counter.step(i)
"""


@pytest.mark.parametrize("label", EXPECTED)
def test_calls_are_counted(label):
    t = trace(label, PLAIN)
    step = "Counter.step" if label not in ("3.8", "3.9", "3.10") else "step"
    assert t.result.stdout == "144 [0, 1, 2]\n"
    assert t.calls("fib") == 465
    assert (t.calls("numbers"), t.resumes("numbers")) == (1, 3)
    assert t.calls(step) == t.calls("<built-in method builtins.abs>") == 100
    assert t.losses == []
