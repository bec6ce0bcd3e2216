"""Exact calls: what `run --trace` records, on every interpreter, against what the program itself knows."""

import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from interpreters import EXPECTED, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
NODES = LEADLINE.parent / "tests" / "nodes"
TARGETS = ROOT / "tests" / "targets" / "trace"
SECONDS = 60
BEFORE_QUALNAMES = ("3.8", "3.9", "3.10")
BEFORE_MONITORING = (*BEFORE_QUALNAMES, "3.11")


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


@contextlib.contextmanager
def placed(label, source):
    """A script where the interpreter finds it: a file of TARGETS with its like beside it, or a text."""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder:
        os.chmod(folder, 0o755)
        if isinstance(source, Path):
            for file in TARGETS.glob("*.py"):
                shutil.copy(file, folder)
            yield Path(folder) / source.name
        else:
            script = Path(folder) / "program.py"
            script.write_text(source)
            yield script


def trace_at(label, script, *options, arguments=(), check=True, env=()):
    """Runs a script under --trace with that interpreter."""
    with tempfile.TemporaryDirectory() as own:
        result = subprocess.run(
            [LEADLINE, "run", "--trace", "-o", f"{own}/x.lead", *options, "--",
             *require(label).command(*map(str, (script, *arguments)))],
            env={**os.environ, "TMPDIR": shared_folder(label), **dict(env)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS,
        )
        if check:
            assert result.returncode == 0, result.stderr
        return Trace(f"{own}/x.lead", result)


def trace(label, source, *options, **more):
    with placed(label, source) as script:
        return trace_at(label, script, *options, **more)


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
    step = "step" if label in BEFORE_QUALNAMES else "Counter.step"
    assert t.result.stdout == "144 [0, 1, 2]\n"
    assert t.calls("fib") == 465
    assert (t.calls("numbers"), t.resumes("numbers")) == (1, 3)
    assert t.calls(step) == t.calls("<built-in method builtins.abs>") == 100
    assert t.losses == []


# ---- edges, against a counter in pure Python ----------------------------------------------------------------------


def function_of(node):
    """[file, line, plain name], as the oracle names functions."""
    if node is None or not node["name"]:
        return None
    if node["file"]:
        return (node["file"], node["line"], node["name"].rpartition(".")[2])
    name = re.sub(r"^<method '(.*)' of .*$|^<built-in method (.*?)( of .*)?>$|^<(.*)>$",
                  lambda m: m.group(1) or m.group(2) or m.group(4), node["name"])
    return ("", 0, name.rpartition(".")[2])


def our_edges(t):
    edges = collections.defaultdict(lambda: [0, 0])
    for node in t.nodes:
        edge = edges[function_of(t.by_id.get(node["parent"])), function_of(node)]
        edge[0] += node["calls"]
        edge[1] += node["resumes"]
    return edges


def their_edges(label, script):
    command = require(label).command(str(script.parent / "oracle.py"), str(script))
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=SECONDS)
    as_function = lambda x: x and tuple(x)
    return {(as_function(a), as_function(b)): [calls, resumes]
            for a, b, calls, resumes in json.loads(result.stdout.splitlines()[-1])}


def of_program(edges, script, together):
    """The edges that begin or end in the program's file, without the outermost and without imports, which depend on
    what was imported before."""
    chosen = {}
    for (caller, callee), (calls, resumes) in edges.items():
        files = {f[0] for f in (caller, callee) if f}
        if any(file.startswith("<frozen importlib") for file in files):
            continue
        if str(script) in files and callee and callee[2] != "<module>" and calls + resumes:
            chosen[caller, callee] = calls + resumes if together else (calls, resumes)
    return chosen


@pytest.mark.parametrize("program", ("calls", "tasks"))
@pytest.mark.parametrize("label", EXPECTED)
def test_edges_are_those_of_the_oracle(label, program):
    with placed(label, TARGETS / f"{program}.py") as script:
        t = trace_at(label, script)
        together = label in BEFORE_MONITORING
        ours, theirs = (of_program(e, script, together) for e in (our_edges(t), their_edges(label, script)))
    assert len(theirs) > 20
    assert {k: (ours.get(k), theirs.get(k)) for k in ours.keys() | theirs if ours.get(k) != theirs.get(k)} == {}
    assert t.losses == []
