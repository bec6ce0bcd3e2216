"""leadline run --torch=full: torch's own profiler beside the sampler, in one recording."""
import json
import subprocess
import sys
import time

import pytest
from conftest import LEADLINE, ROOT
from test_torch_run import COMPILED

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

TRAIN = """
import time, torch
from torch.profiler import profile, record_function, schedule
net = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 5))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
other = torch.optim.Adam(torch.nn.Linear(2, 2).parameters())

def step():
    with record_function("forward"):
        out = net(torch.randn(8, 20)).sum()
    out.backward()
    optimizer.step()
    other.step()
    optimizer.zero_grad()

for number in range(8):
    if number == 2:
        print(repr(time.time()))
    step()
print(repr(time.time()))
"""
OWN = """
step()  # the ninth, or the fourth: ours has been off for a while, or has just begun
with profile() as plain:
    step()
with profile(schedule=schedule(wait=1, warmup=1, active=2), record_shapes=True) as planned:
    for _ in range(4):
        step()
        planned.step()
for prof in (plain, planned):
    print({r.key: r.count for r in prof.key_averages()}["aten::addmm"])
"""


def record(folder, text, how):
    pytest.importorskip("torch")
    (folder / "train.py").write_text(text)
    done = subprocess.run([LEADLINE, "run", f"--torch={how}", "--python", sys.executable, "-o", "x.lead", "train.py"], cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr and "Traceback" not in done.stderr
    return done.stdout.split(), done.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    began = time.time()
    out, error = record(folder, TRAIN, "full:1,1,4")
    return folder / "x.lead", [float(word) for word in out], error, began


def rows(tool, path):
    return {r["name"]: r for r in json.loads(tool("report", "--ops", "--json", "--limit=0", path).stdout)["operators"]}


def test_the_recording_has_the_operators_of_the_steps_asked_for(tool, trained):
    path, _, error, _ = trained
    assert f"Operators: leadline report {path.name} --overview --ops" in error
    seen = rows(tool, path)
    assert {name: seen[name]["calls"] for name in ("ProfilerStep*", "forward", "aten::addmm", "Optimizer.step#SGD.step")} == {"ProfilerStep*": 4, "forward": 4, "aten::addmm": 8, "Optimizer.step#SGD.step": 4}
    assert seen["aten::addmm"]["flops"] == 4 * 2 * 8 * (20 * 30 + 30 * 5) and seen["aten::addmm"]["self_cpu_bytes"] > 0
    assert seen["aten::addmm"]["module"] in ("0", "2") and seen["aten::addmm"]["source"].endswith(": step")
    steps = json.loads(tool("report", "--steps", "--json", path).stdout)["steps"]
    assert [s["name"] for s in steps] == [f"ProfilerStep#{k}" for k in range(2, 6)]
    assert "aten::addmm" in tool("report", "--ops", "--torch", "--limit=-1", path).stdout


def test_the_arithmetic_of_the_steps(tool, trained):
    def asked(path):
        return json.loads(tool("report", "--overview", "--ops", "--json", "--limit=0", path).stdout)

    seen = asked(trained[0])
    work = seen["work"]
    assert work["flops"] == sum(r.get("flops") or 0 for r in seen["operators"]) >= 4 * 2 * 8 * (20 * 30 + 30 * 5)
    assert work["flops_per_s"] == pytest.approx(work["flops"] / seen["overview"]["total_s"]) and work["peak_flops_share"] is None
    device = asked(ROOT / "tests" / "data" / "torch" / "h200_conv.pt.trace.json.gz")
    assert device["work"]["peak_flops_share"] == pytest.approx(device["work"]["flops"] / device["overview"]["total_s"] / 989e12) and "H200" in device["work"]["peak"]
    assert asked(ROOT / "tests" / "data" / "torch" / "mlp_plain.pt.trace.json.gz")["work"] is None  # without shapes


def test_the_samples_are_there_as_well(tool, trained):
    result = json.loads(tool("report", "--json", trained[0]).stdout)
    assert result["fidelity"]["samples"] > 100 and any(f["name"] == "<module>" for f in result["functions"])


def test_operators_have_the_clock_of_the_samples(tool, trained, tmp_path):
    path, (second, last), _, began = trained
    out = tmp_path / "x.pt.trace.json"
    assert tool("export", "--force", "--format", "torch-trace", "-o", out, path).returncode == 0
    trace = json.loads(out.read_text())
    ops = [e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    times = [int(trace["baseTimeNanoseconds"]) / 1e9 + e["ts"] / 1e6 for e in ops]
    assert len(times) > 100 and second - 0.1 < min(times) and max(times) < last + 0.1
    assert min(e["ts"] for e in ops) / 1e6 == pytest.approx(time.monotonic() - (time.time() - min(times)), abs=0.5) and began < second


def test_a_step_holds_its_optimizers_call_and_the_call_no_stop_of_the_profiler(tool, trained, tmp_path):
    out = tmp_path / "x.pt.trace.json"
    assert tool("export", "--force", "--format", "torch-trace", "-o", out, trained[0]).returncode == 0
    events = json.loads(out.read_text())["traceEvents"]
    [stopped] = [e["ts"] for e in events if e["name"] == "Record Window End"]

    def spans(name):
        return sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["cat"] == "user_annotation" and e["name"].startswith(name))

    calls, steps = spans("Optimizer.step#SGD"), spans("ProfilerStep#")
    assert len(calls) == len(steps) == 4
    assert all(step[0] < call[0] < call[1] < step[1] < stopped for call, step in zip(calls, steps))
    row = rows(tool, trained[0])["Optimizer.step#SGD.step"]
    assert row["cpu_s"] == pytest.approx(sum(end - begin for begin, end in calls) / 1e6, rel=1e-3)


def test_a_profiler_of_the_programs_own_goes_first(tool, tmp_path):
    out, error = record(tmp_path, TRAIN.replace("range(8)", "range(3)") + OWN, "full")
    assert out[-2:] == ["2", "4"]
    assert "Operators: the program started a profiler of its own after 4 steps, so leadline's stopped there." in error
    assert rows(tool, tmp_path / "x.lead")["aten::addmm"]["calls"] == 2 * 2


EARLIER = """
with profile() as plain:  # while ours waits: it goes on waiting
    step()
    step()
step()
with profile() as warm:  # while ours warms up: it begins anew
    step()
for _ in range(9):
    step()
for prof in (plain, warm):
    print({r.key: r.count for r in prof.key_averages()}["aten::addmm"])
"""


def test_ours_begins_after_a_profiler_of_the_programs_own(tool, tmp_path):
    out, error = record(tmp_path, TRAIN.replace("range(8)", "range(1)") + EARLIER, "full:2,1,3")
    assert out[-2:] == ["4", "2"] and "stopped there" not in error
    seen = rows(tool, tmp_path / "x.lead")
    assert {name: seen[name]["calls"] for name in ("ProfilerStep*", "forward", "aten::addmm")} == {"ProfilerStep*": 3, "forward": 3, "aten::addmm": 6}


def test_what_torch_compile_did_has_names_and_reasons(tool, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "compiled.py").write_text(COMPILED)
    done = subprocess.run([LEADLINE, "run", "--torch=full:all", "--python", sys.executable, "-o", "x.lead", "compiled.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    truth = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[[")))
    seen = json.loads(tool("report", "--compile", "--json", "--limit=0", tmp_path / "x.lead").stdout)["compilation"]
    assert [(c["id"], c["reason"]) for c in seen["compilations"]] == [(number, reason) for number, _, reason in truth] and seen["again"] == 2
    assert {f["id"]: f["function"] for f in seen["frames"]} == {number.partition("/")[0]: name for number, name, _ in truth}
    shown = " ".join(tool("report", "--compile", "--limit=0", tmp_path / "x.lead").stdout.split())
    assert "shaped" in shown and "size mismatch" in shown and "graph break at" in shown


RANKS = """
import os, torch, torch.distributed as dist, torch.multiprocessing as mp

def work(rank, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(5, 5))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        net(torch.randn(3, 5)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, (os.path.abspath("meet"),), nprocs=2)
"""


def test_ranks_lie_side_by_side(tool, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "x.py").write_text(RANKS)
    done = tool("run", "--torch=full:1,1,2", "--python", sys.executable, "-o", "x.lead", "x.py", cwd=tmp_path)
    error = done.stderr  # gloo has its own say in it where a host does not know its name
    assert done.returncode == 0, error
    assert "Compare ranks: leadline report x.lead x.*.pt.trace.json --distributed" in error and "0 steps" not in error
    [other] = tmp_path.glob("x.*.pt.trace.json")
    ranks = json.loads(tool("report", "--distributed", "--json", tmp_path / "x.lead", other).stdout)["distributed"]["ranks"]
    assert sorted((r["rank"], r["steps"]) for r in ranks) == [(0, 2), (1, 2)]


@pytest.mark.parametrize("text", ["print(1)", "import os\nos._exit(0)"])
def test_without_torch_there_are_samples_and_a_word(tool, tmp_path, text):
    (tmp_path / "x.py").write_text(text)
    done = tool("run", "--torch=full", "--python", sys.executable, "-o", tmp_path / "x.lead", tmp_path / "x.py")
    assert done.returncode == 0 and "Operators: none, the program did not import torch or did not run to its end." in done.stderr


@pytest.mark.parametrize("options, words", [
    (["--torch=fast"], "--torch takes no value, =full, =full:all or =full:WAIT,WARMUP,ACTIVE in steps (such as full:1,1,10), not 'fast'"),
    (["--torch=full:1,2"], "not 'full:1,2'"), (["--torch=full:1,2,0"], "not 'full:1,2,0'"), (["--torch=full:-1,2,3"], "not 'full:-1,2,3'"),
    (["--torch=full", "--trace"], "--torch=full works with sampling only")])
def test_options_that_do_not_fit(tool, tmp_path, options, words):
    (tmp_path / "x.py").write_text("print(1)")
    done = tool("run", *options, "-o", tmp_path / "x.lead", tmp_path / "x.py")
    assert done.returncode == 125 and words in done.stderr and not done.stdout and not (tmp_path / "x.lead").exists()
