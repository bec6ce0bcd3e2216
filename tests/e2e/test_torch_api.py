"""leadline.torch: torch's profiler with our tables, and the numbers of a training."""
import gzip
import json
import os
import subprocess
import sys

import pytest
from conftest import LEADLINE, ROOT
from programs import output_of

PROGRAM = """
import gzip, json, os, sys, torch
import leadline
from torch.profiler import ProfilerActivity, record_function, schedule
import torch.profiler

net = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 5))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def train(n, prof=None):
    for _ in range(n):
        with record_function("forward"):
            out = net(torch.randn(8, 20)).sum()
        out.backward()
        optimizer.step()
        optimizer.zero_grad()
        if prof:
            prof.step()

train(2)
theirs = torch.profiler.profile.key_averages
compared = made = 0
from leadline import _torch_profile
report = _torch_profile._report
def counted(*words):
    global made
    made += 1
    return report(*words)
_torch_profile._report = counted
TABLES = [{}, {"sort_by": "cpu_time_total", "row_limit": 4, "header": "Höher"}, {"sort_by": "self_cuda_time_total", "row_limit": -1},
          {"sort_by": "count", "top_level_events_only": True}, {"max_name_column_width": 20, "max_shapes_column_width": 30}, {"sort_by": "key", "row_limit": 3}]

def same(prof, tables=TABLES, **group):
    global compared
    ours, torchs = prof.key_averages(**group), theirs(prof, **group)
    for options in tables:
        assert ours.table(**options) == torchs.table(**options), (group, options)
        compared += 1
    return ours

with leadline.torch.profile(activities=[ProfilerActivity.CPU]) as prof:  # the table first, then the trace, twice
    train(3)
assert isinstance(prof, torch.profiler.profile) and isinstance(prof, leadline.torch.Profile)
rows = same(prof)
assert made == 4, made  # of the six: those without widths and keys of torch's own
assert "forward" in str(rows) and str(rows) == rows.table()
assert len(rows) == len(theirs(prof)) and {r.key for r in rows} >= {"forward", "aten::addmm"} and rows[0].count >= 1
assert rows.total_average().count == theirs(prof).total_average().count
made = 0
prof.export_chrome_trace("plain.json")
prof.export_chrome_trace("plain.json.gz")
assert gzip.open("plain.json.gz").read() == open("plain.json", "rb").read()
same(prof, group_by_stack_n=3)

ready = []
def at_end(p):
    leadline.torch.trace_handler("traces", "worker", gzip=len(ready) > 0)(p)
    ready.append(p.key_averages().table(row_limit=5) == theirs(p).table(row_limit=5))
flags = {"record_shapes": True, "profile_memory": True, "with_flops": True}
with leadline.torch.profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=at_end, **flags) as prof:
    train(8, prof)
assert ready == [True, True] and made == 2
same(prof)
same(prof, group_by_input_shape=True)
assert made == 2 + 4 + 4
for name in os.listdir("traces"):
    os.rename("traces/" + name, "traces/moved-" + name)
same(prof)  # the file has gone: torch is asked

assert made == 10
for is_warm in (False, True):  # what is imported by the first has names that torch's trace and table do not agree upon
    p = leadline.torch.profile(activities=[ProfilerActivity.CPU], with_stack=True)
    p.start(); train(1); p.stop()
    text = p.key_averages().table()
same(p)
assert made == 10 + 2 + 4
p = leadline.torch.profile(activities=[ProfilerActivity.CPU], with_flops=True, acc_events=True)
p.start(); train(1); p.stop()
same(p)
try:
    leadline.torch.profile(activities=[ProfilerActivity.CPU]).key_averages()
except AssertionError:
    compared += 1
print(compared)
"""


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("api")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "LEADLINE_BINARY": LEADLINE, "TMPDIR": str(folder / "tmp")}
    (folder / "tmp").mkdir()
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-W", "ignore", "program.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, int(done.stdout)


def test_tables_are_torchs_to_the_character(profiled):
    assert profiled[1] == 7 * 6 + 1


def test_no_trace_of_ours_is_left_behind(profiled):
    assert not list((profiled[0] / "tmp").glob("leadline*"))


def test_traces_of_the_handler_can_be_read(tool, profiled):
    names = sorted(p.name for p in (profiled[0] / "traces").iterdir())
    assert len(names) == 2 and all(n.startswith("moved-worker.") for n in names) and sum(n.endswith(".pt.trace.json.gz") for n in names) == 1
    for name in names:
        rows = {r["name"]: r["calls"] for r in json.loads(tool("report", "--ops", "--json", "--limit=0", profiled[0] / "traces" / name).stdout)["operators"]}
        assert rows["forward"] == 2 and rows["ProfilerStep*"] == 2 and rows["aten::addmm"] == 4
    assert gzip.decompress((profiled[0] / "plain.json.gz").read_bytes()).lstrip().startswith(b"{")


TRAINING = """
import json, sys, threading, time
import leadline

def train(n, **amounts):
    for _ in range(n):
        sum(range(300000))
        leadline.torch.step(**amounts)
"""


@pytest.mark.parametrize("label", ["3.8", "3.12", "3.13t"])
def test_steps_of_a_training_are_counted_while_something_records(label):
    out = output_of(label, TRAINING + """
train(3, samples=7)
with leadline.sample(rate=1000) as s:
    train(11, samples=32, tokens=1000)
    other = threading.Thread(target=train, args=(6,), kwargs={"samples": 32})
    other.start()
    other.join()
train(3, samples=7)
try:
    with leadline.sample(): leadline.torch.step(samples=-1)
except ValueError: pass
else: sys.exit("a negative number was taken")
print(json.dumps(s.json()))
print(s.report("--regions"))
assert "torch" not in sys.modules
""")
    document, text = out.split("\n", 1)
    result = json.loads(document)
    numbers = result["training"]
    assert (numbers["steps"], numbers["processes"], numbers["samples"], numbers["tokens"]) == (10 + 5, 1, 15 * 32, 10 * 1000)
    (region,) = result["regions"]
    assert (region["name"], region["times"], region["threads"]) == ("training step", 15, 2)
    assert numbers["steps_per_s"] == pytest.approx(15 / region["total_s"]) and numbers["samples_per_s"] == pytest.approx(15 * 32 / region["total_s"])
    assert numbers["tokens_per_s"] == pytest.approx(10000 / region["total_s"])
    assert region["min_s"] <= numbers["median_s"] <= numbers["p99_s"] <= numbers["max_s"] == pytest.approx(region["max_s"])
    assert "Training" in text and "samples/s" in text


def test_a_run_has_the_numbers_of_all_processes(tool, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(TRAINING + "import os\nchild = os.fork()\ntrain(5 if child else 3, samples=10)\nif child: os.waitpid(child, 0)\n")
    done = tool("run", f"--json={tmp_path / 'out.json'}", "-o", tmp_path / "x.lead", "--python", sys.executable, program)
    assert done.returncode == 0, done.stderr
    numbers = json.loads((tmp_path / "out.json").read_text())["training"]
    assert (numbers["steps"], numbers["processes"], numbers["samples"], numbers["tokens_per_s"]) == (4 + 2, 2, 60, None)
    assert "Training" in tool("report", tmp_path / "x.lead").stdout


def test_without_torch_one_line_says_so(tmp_path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('no', name='torch')\n")
    program = "import leadline\nleadline.torch.step(samples=1)\nleadline.torch.profile()\n"
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'python'}"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("leadline._host.Error: there is no torch in this environment")
