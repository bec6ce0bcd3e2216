"""What a traced program does is what it does untraced: CPython's own tests, torch, and other tools that hook in."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
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


# Prints what it sees: line counts of `trace`, steps of a debugger, lines of a tool of sys.monitoring that switches off
# what it has seen, as coverage does.
OTHER_TOOLS = """
import bdb, sys, trace

def work(n):
    total = 0
    for i in range(n):
        total += abs(i)
    return total

class Steps(bdb.Bdb):
    seen = []
    def user_line(self, frame):
        self.seen.append(frame.f_lineno)
        self.set_step()

counts = trace.Trace(count=1, trace=0)
counts.runfunc(work, 3)
print(sorted((line, n) for (file, line), n in counts.results().counts.items() if file == __file__))
steps = Steps()
steps.runcall(work, 2)
print(steps.seen)
if sys.version_info >= (3, 12):
    m, lines = sys.monitoring, []
    m.use_tool_id(m.COVERAGE_ID, "like coverage")
    m.register_callback(m.COVERAGE_ID, m.events.LINE, lambda code, line: lines.append(line) or m.DISABLE)
    m.set_local_events(m.COVERAGE_ID, work.__code__, m.events.LINE)
    print(work(4), lines)
    m.set_local_events(m.COVERAGE_ID, work.__code__, 0)
    m.free_tool_id(m.COVERAGE_ID)
print(work(5), sys.gettrace())
"""


@pytest.mark.parametrize("label", EXPECTED)
def test_coverage_and_debuggers_see_what_they_see_without_us(label):
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        Path(folder, "program.py").write_text(OTHER_TOOLS)
        command = require(label).command(f"{folder}/program.py")
        env = {**os.environ, "TMPDIR": folder}
        plain = subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS, env=env)
        traced = subprocess.run([LEADLINE, "run", "--trace", f"--json={own}/x.json", "-o", f"{own}/x.lead", "--", *command],
                                check=True, capture_output=True, text=True, timeout=SECONDS, env=env)
        report = json.loads(Path(own, "x.json").read_text())
    assert traced.stdout == plain.stdout
    assert plain.stdout.endswith("10 None\n")
    calls = {f["name"]: f["calls"] for f in report["functions"]}
    assert calls["work"] == (3 if label in ("3.8", "3.9", "3.10", "3.11") else 4)


TRAINING = """
import torch

torch.manual_seed(1)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)

def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()

print([step() for _ in range(30)])
"""


def test_a_training_loop_learns_what_it_learns_without_us(tmp_path):
    pytest.importorskip("torch")
    program = tmp_path / "train.py"
    program.write_text(TRAINING)
    plain = subprocess.run([sys.executable, program], check=True, capture_output=True, text=True, timeout=SECONDS)
    traced = subprocess.run([LEADLINE, "run", "--trace", "--json=x.json", "-o", "x.lead", "--", sys.executable, program], cwd=tmp_path,
                            check=True, capture_output=True, text=True, timeout=SECONDS)
    assert traced.stdout == plain.stdout
    calls = {f["name"]: f["calls"] for f in json.loads((tmp_path / "x.json").read_text())["functions"]}
    assert calls["step"] == 30
