"""`leadline run --torch`: every operator of a program, against what torch.profiler counts in the same one."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import conftest
import pytest
from interpreters import EXPECTED, require, shared_folder

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

TARGETS = conftest.ROOT / "tests" / "targets"
TRAINING = TARGETS / "torch_ops.py"
STANDIN = TARGETS / "standin_program.py"
SECONDS = 120


class Recorded:
    """A program that was run twice, plainly and under `run --torch`."""

    def __init__(self, folder, *command, **environment):
        self.lead = folder / "x.lead"
        env = {**os.environ, **environment}
        self.plain = subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS)
        self.run = subprocess.run([conftest.LEADLINE, "run", "--torch", "-o", self.lead, f"--report={folder}/report", "--", *command],
                                  env=env, capture_output=True, text=True, timeout=SECONDS)
        self.report = (folder / "report").read_text()

    @property
    def unchanged(self):
        """Whether the program said and did the same."""
        def said(r):  # torch's own lines have the time in them
            return r.returncode, r.stdout, re.sub(r"(?m)^(leadline: |USDT:).*\n|(?<=^\[W)[\d .:]+", "", r.stderr)

        return said(self.plain) == said(self.run)

    def operators(self, *options):
        r = subprocess.run([conftest.LEADLINE, "report", self.lead, "--ops", "--json", "--limit=-1", *options],
                           capture_output=True, text=True, timeout=SECONDS)
        assert r.returncode == 0, r.stderr
        return {o["name"]: o for o in json.loads(r.stdout)["operators"]}

    def counts(self):
        return collections.Counter({name: int(o["calls"]) for name, o in self.operators().items()})


def line_of(script, text):
    return next(i for i, line in enumerate(script.read_text().splitlines(), 1) if text in line)


# ---- PyTorch itself


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    pytest.importorskip("torch")
    return Recorded(tmp_path_factory.mktemp("training"), sys.executable, TRAINING)


def test_operators_are_those_torch_counts(training, tmp_path):
    """Forward, backward, optimizer, regions, Python threads and DataLoader workers."""
    for who in ("main", "others"):
        subprocess.run([sys.executable, TRAINING, who, tmp_path / "truth"], check=True, capture_output=True, timeout=SECONDS)
    truth = collections.Counter()
    for line in (tmp_path / "truth").read_text().splitlines():
        truth.update(json.loads(line))
    assert truth["forward pass"] == 25 and truth["aten::cumsum"] == 2 and truth["aten::tanh"] == 3
    assert training.counts() == truth


def test_the_program_notices_nothing(training):
    assert training.unchanged
    assert training.plain.returncode == 0


def test_operators_have_the_programs_lines(training):
    ops = training.operators()
    for name, text in (("aten::addmm", "Doubled.apply(model(x))"), ("AddmmBackward0", "Doubled.apply(model(x))"), ("torch::autograd::AccumulateGrad", "loss.backward()"),
                       ("forward pass", 'record_function("forward pass")'), ("Optimizer.step#SGD.step", "optimizer.step()"),
                       ("aten::cumsum", "cumsum(0)")):
        assert f"torch_ops.py({line_of(TRAINING, text)}):" in ops[name]["source"], name


def test_times_lie_in_each_other(training):
    ops = training.operators()
    assert ops["aten::linear"]["cpu_s"] > ops["aten::addmm"]["cpu_s"] > 0
    assert ops["forward pass"]["cpu_s"] > ops["aten::linear"]["cpu_s"]
    assert all(0 <= o["self_cpu_s"] <= o["cpu_s"] for o in ops.values())


def test_ranges_of_record_function_are_regions(training):
    r = subprocess.run([conftest.LEADLINE, "report", "--regions", "--json", training.lead], capture_output=True, text=True, timeout=SECONDS)
    regions = {x["name"]: x for x in json.loads(r.stdout)["regions"]}
    ops = training.operators()
    for name in ("forward pass", "Optimizer.step#SGD.step"):
        assert regions[name]["times"] == ops[name]["calls"] and regions[name]["total_s"] == pytest.approx(ops[name]["cpu_s"], rel=1e-6), name
    assert regions["forward pass"]["times"] == 25
    assert not any(name.startswith(("aten::", "ProfilerStep")) for name in regions)


def test_the_report_says_what_there_is(training):
    assert re.search(r"PyTorch \d\S+: \S+ k operator calls of 3 processes, about \S+ .s of collecting each( \(\S+ % slower in the thread that ran most\))?   more: leadline report \S+ --ops", training.report)
    assert "not seen" not in training.report.replace("threads not seen", "") and "lost:" not in training.report


COMPILED = """
import json
import torch


@torch.compile(backend="eager")
def broken(x):
    y = x * 2
    if y.sum() > 0:  # it breaks here
        y = y + 1
    return y.sin()


@torch.compile(backend="eager", dynamic=False)
def shaped(x):
    return torch.relu(x @ x.T)


for n in (4, 5, 6):
    shaped(torch.ones(n, 3))
for _ in range(7):
    broken(torch.ones(3))
from torch._dynamo.utils import get_compilation_metrics
print(json.dumps([(m.compile_id, m.co_name, getattr(m, "recompile_reason", None)) for m in get_compilation_metrics()]))
"""


def test_what_torch_compile_did_and_why(tmp_path):
    pytest.importorskip("torch")
    script = tmp_path / "compiled.py"
    script.write_text(COMPILED)
    subprocess.run([conftest.LEADLINE, "run", "--torch", "-o", tmp_path / "x.lead", f"--report={tmp_path}/report", "--", sys.executable, script],
                   check=True, stdout=(tmp_path / "out").open("w"), timeout=SECONDS)
    truth = json.loads((tmp_path / "out").read_text())
    shown = subprocess.run([conftest.LEADLINE, "report", "--compile", "--limit=0", tmp_path / "x.lead"], capture_output=True, text=True, check=True).stdout
    seen = json.loads(subprocess.run([conftest.LEADLINE, "report", "--compile", "--json", "--limit=0", tmp_path / "x.lead"], capture_output=True, text=True, check=True).stdout)["compilation"]
    assert [(c["id"], c["reason"]) for c in seen["compilations"]] == [(number, reason) for number, _, reason in truth] and len(truth) == 5
    assert [c["again"] for c in seen["compilations"]] == [False, True, True, False, False] and seen["again"] == 2
    assert "size mismatch" in seen["compilations"][1]["reason"]
    functions = {number.partition("/")[0]: name for number, name, _ in truth}
    assert {f["id"]: f["function"] for f in seen["frames"]} == functions
    assert {f["function"]: (f["compiled"], f["calls"]) for f in seen["frames"] if "resume" not in f["function"]} == {"shaped": (3, 3), "broken": (1, 7)}
    assert all(f["first_s"] < f["compile_s"] for f in seen["frames"])  # without compiling, which is a span of its own
    [at] = seen["break_reasons"]
    assert (at["file"], at["function"], at["line"]) == (str(script), "broken", line_of(script, "it breaks here")) and at["reason"]
    assert f"graph break at compiled.py: broken, line {at['line']}: {at['reason']}" in " ".join(shown.split())


SCRIPTED = """
import time
import torch


def plain(x):
    return x * 2 + 1


class Doubled(torch.nn.Module):
    def forward(self, x):
        return plain(x)


since = time.perf_counter()
made = [torch.jit.script(plain), torch.jit.trace(plain, torch.ones(3)), torch.jit.freeze(torch.jit.script(Doubled().eval()))]
took = time.perf_counter() - since
assert all(m(torch.ones(2)).tolist() == [3, 3] for m in made)
try:
    torch.jit.script(lambda x: undefined(x))
except Exception as error:
    print(type(error).__name__)
print(took, torch.jit.script.__name__, repr(torch.jit.script).partition(" at ")[0])
"""


def test_what_torch_jit_compiled(tmp_path):
    """Spans as long as the program measures; it sees functions as before, and its own errors."""
    pytest.importorskip("torch")
    (tmp_path / "scripted.py").write_text(SCRIPTED)
    run = [conftest.LEADLINE, "run", "--torch", "-o", tmp_path / "x.lead", "--report=/dev/null", "--", sys.executable, tmp_path / "scripted.py"]
    said = subprocess.run(run, check=True, capture_output=True, text=True, timeout=SECONDS).stdout.split()
    plain = subprocess.run([sys.executable, tmp_path / "scripted.py"], check=True, capture_output=True, text=True, timeout=SECONDS).stdout.split()
    assert said[:1] + said[2:] == plain[:1] + plain[2:]
    report = subprocess.run([conftest.LEADLINE, "report", "--compile", "--json", "--limit=0", tmp_path / "x.lead"], capture_output=True, text=True, check=True).stdout
    seen = json.loads(report)["compilation"]
    names = [c["id"] for c in seen["compilations"]]
    assert names == [f"torch.jit.{name}" for name in ("script", "trace", "script", "freeze", "script")] and all(c["script"] for c in seen["compilations"])
    assert seen["scripts"] == 5 and seen["scripts_s"] == pytest.approx(seen["total_s"]) and not seen["frames"]
    assert 0.5 * float(said[1]) <= sum(c["duration_s"] for c in seen["compilations"][:4]) <= float(said[1])


OWN_PROFILERS = """
import threading
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

CPU = [ProfilerActivity.CPU]


def counts(p):
    return {e.key: e.count for e in p.key_averages() if e.key in ("aten::erf", "region")}


def inside():
    with record_function("region"):
        torch.ones(3).erf()


def outside():
    torch.ones(3).tanh()


outside()
with profile(activities=CPU) as p:
    inside()
print("plain", counts(p))
outside()
seen = []
with profile(activities=CPU, schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=lambda p: seen.append(counts(p))) as p:
    for _ in range(8):
        inside()
        p.step()
print("scheduled", seen)
outside()
try:
    with profile(activities=CPU) as outer:
        inside()
        with profile(activities=CPU):
            pass
except RuntimeError as error:
    print("nested", str(error).splitlines()[0][:60])
outside()
with torch.autograd.profiler.profile() as p:
    inside()
print("older", counts(p))
try:
    with profile(activities=CPU) as p:
        inside()
        1 / 0
except ZeroDivisionError:
    print("raised", counts(p))
outside()


def in_thread():
    outside()
    with profile(activities=CPU) as p:
        inside()
    print("thread", counts(p))
    outside()


thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
with torch.autograd.profiler.emit_itt():
    torch.ones(3).cos()
outside()
try:
    torch.autograd.profiler._disable_profiler()
except RuntimeError as error:
    print("not on", str(error).splitlines()[0][:60])
outside()
print(torch.autograd._profiler_enabled(), torch.autograd.profiler._is_profiler_enabled)
"""


def test_the_programs_own_profilers_work(tmp_path):
    """Plain, scheduled, nested, older, with an exception, in a thread, and emit_itt, whose ranges we get as well."""
    pytest.importorskip("torch")
    script = tmp_path / "own.py"
    script.write_text(OWN_PROFILERS)
    r = Recorded(tmp_path, sys.executable, script)
    assert r.unchanged
    assert r.plain.stdout.count("'aten::erf': 1") == 4 and r.plain.stdout.count("'aten::erf': 2") == 2
    counts = r.counts()
    assert counts["aten::tanh"] == 9 and counts["aten::cos"] == 1
    assert counts["aten::erf"] == 4  # of the scheduled one: those it waits, warms up or has ended
    assert re.search(r"Operators not seen for \S+ \S+ \(\d+ times\): the program's own profiler was on", r.report)


# ---- what stands in for it, on every interpreter


def standin(label, folder, **environment):
    """The stand-in's program, recorded by that interpreter."""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as home:
        os.chmod(home, 0o755)
        shutil.copy(STANDIN, home)
        shutil.copytree(TARGETS / "standin", f"{home}/standin", ignore=shutil.ignore_patterns("__pycache__"))
        command = require(label).command(f"{home}/{STANDIN.name}")
        return Recorded(folder, *command, TMPDIR=shared_folder(label), PYTHONDONTWRITEBYTECODE="1", **environment)


@pytest.mark.parametrize("label", EXPECTED)
def test_every_interpreter_has_the_collector(label, tmp_path):
    """Names, counts and lines, in threads as well; ranges of other libraries are left out; nothing of it can be seen in the program."""
    r = standin(label, tmp_path)
    assert r.unchanged and r.run.returncode == 0, r.run.stderr
    assert r.counts() == {"a region": 100, "aten::add": 522, "aten::empty": 522}
    ops = r.operators()
    assert f"standin_program.py({line_of(STANDIN, 'record_function(')}): main" in ops["a region"]["source"]
    adds = {i for i, line in enumerate(STANDIN.read_text().splitlines(), 1) if "torch.add()" in line}
    assert {int(re.search(r"standin_program.py\((\d+)\): ", p["source"])[1]) for p in ops["aten::add"]["places"]} <= adds
    assert "PyTorch 2.99.0: " in r.report and "(2 times): the program's own profiler was on" in r.report


OWN = "3.11"


def test_a_torch_that_is_too_old(tmp_path):
    r = standin(OWN, tmp_path, STANDIN_VERSION="1.12.1")
    assert r.run.returncode == r.plain.returncode
    assert "No operators: torch 1.12.1 has no ITT ranges; they came with 1.13.\n" in r.report


def test_an_import_that_fails(tmp_path):
    """The traceback is the program's own."""
    r = standin(OWN, tmp_path, STANDIN_FAILS="1")
    assert r.plain.returncode == 1 and "libstandin" in r.plain.stderr
    assert r.unchanged
    assert "No operators: torch was never imported.\n" in r.report


def test_another_collector_is_left_alone(tmp_path):
    r = standin(OWN, tmp_path, INTEL_LIBITTNOTIFY64="/nowhere/libittnotify.so")
    assert "No operators: INTEL_LIBITTNOTIFY64 names another collector already" in r.report


@pytest.mark.parametrize("options, said", [((), "torch was never imported"), (("-I",), "no interpreter loaded the agent")])
def test_a_program_without_torch(tmp_path, options, said):
    script = tmp_path / "plain.py"
    script.write_text("print(sum(range(100000)))\n")
    r = Recorded(tmp_path, sys.executable, *options, script)
    assert r.unchanged
    assert f"No operators: {said}" in r.report
    shown = subprocess.run([conftest.LEADLINE, "report", r.lead, "--ops"], capture_output=True, text=True, timeout=SECONDS)
    assert shown.returncode != 0 and "no operators" in shown.stderr


def test_a_loop_of_processes_that_end_at_once(tmp_path):
    """What a forked child did is there although it left by os._exit, with less than a block of it."""
    script = tmp_path / "forks.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(TARGETS / 'standin')!r})\n" + FORKS)
    r = Recorded(tmp_path, sys.executable, script)
    assert r.unchanged, r.run.stderr
    assert r.counts() == {"aten::add": 6 * 5 + 1, "aten::empty": 6 * 5 + 1}


FORKS = """
import os
import torch

torch.add()
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        for _ in range(5):
            torch.add()
        os._exit(0)
    os.waitpid(pid, 0)
print("done")
"""
