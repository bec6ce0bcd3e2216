"""Operators name the lines and modules that ask for them, forward and backward: against a program that tells where they are."""
import collections
import json
import re
import subprocess
import sys

import pytest
from conftest import LEADLINE, ROOT

PROGRAM = ROOT / "tests" / "targets" / "torch" / "places.py"
EXAMPLE = ROOT / "examples" / "vae_lists.py"
SECONDS = 300
LINES = {label: number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) for label in re.findall(r"# at (\S+)$", line)}
LABELS = {number: label for label, number in LINES.items()}


def report(file, *options):
    done = subprocess.run([LEADLINE, "report", file, *options], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def operators(file):
    return json.loads(report(file, "--ops", "--json", "--limit=-1"))["operators"]


def record(folder, how, program, *arguments):
    pytest.importorskip("torch")
    lead = folder / "x.lead"
    done = subprocess.run([LEADLINE, "run", how, "-o", lead, f"--report={folder}/report", "--", sys.executable, program, *map(str, arguments)],
                          capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return lead


class Recorded:
    def __init__(self, folder, how, n_steps):
        self.lead = record(folder, how, PROGRAM, folder / "truth.json")
        truth = json.loads((folder / "truth.json").read_text())
        self.n_steps = n_steps or truth["steps"]
        self.truth = truth["calls"]
        self.rows = {row["name"]: row for row in operators(self.lead)}


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    return Recorded(tmp_path_factory.mktemp("light"), "--torch", None)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return Recorded(tmp_path_factory.mktemp("full"), "--torch=full:1,1,4", 4)


def label(place):
    """ "LABEL" or "LABEL backward" of a place on a line that has one."""
    found = re.search(r"places\.py\((\d+)\): ", place["source"])
    assert found, place
    return LABELS[int(found.group(1))] + " backward" * place["backward"]


def places(row):
    calls = collections.Counter()
    for place in row["places"]:
        calls[label(place)] += place["calls"]
    return dict(calls)


def share_with_line(rows):
    """Of the operators' own time, that with a line; regions are none. A call counts no more than the median one: the machine is busy."""
    known = total = 0
    for row in rows:
        if re.match(r"\w+::", row["name"]):
            time = min(row["self_cpu_s"], row["calls"] * row["median_s"])
            total += time
            known += time * sum(p["calls"] for p in row["places"] if re.search(r"\(\d+\): ", p["source"])) / row["calls"]
    return known / total


@pytest.mark.parametrize("how", ["light", "full"])
def test_calls_belong_to_the_lines_that_ask_for_them(how, request):
    """Several lines with one operator, the same line in several modules, and what autograd does for each."""
    recorded = request.getfixturevalue(how)
    for name, truth in recorded.truth.items():
        assert places(recorded.rows[name]) == {where: calls * recorded.n_steps for where, calls in truth.items()}, name


@pytest.mark.parametrize("how", ["light", "full"])
def test_places_add_up_and_rows_name_what_has_half(how, request):
    for row in request.getfixturevalue(how).rows.values():
        if not row["places"]:
            assert row["source"] == row["module"] == ""
            continue
        assert row["n_places"] == len(row["places"])
        assert sum(p["calls"] for p in row["places"]) == row["calls"]
        for key in ("self_cpu_s", "cpu_s"):
            assert sum(p[key] for p in row["places"]) == pytest.approx(row[key], abs=1e-6), (row["name"], key)
        assert [p["self_cpu_s"] for p in row["places"]] == sorted((p["self_cpu_s"] for p in row["places"]), reverse=True)
        for key in ("source", "module"):
            if row.get(key):
                has = sum(p["self_cpu_s"] for p in row["places"] if p[key] == row[key])
                assert has >= row["self_cpu_s"] * 0.499, (row["name"], key)


@pytest.mark.parametrize("how", ["light", "full"])
def test_operators_name_lines(how, request):
    assert share_with_line(request.getfixturevalue(how).rows.values()) >= 0.9


def module_rows(file):
    return {row["path"]: row for row in json.loads(report(file, "--modules", "--json", "--limit=-1"))["modules"]}


@pytest.mark.parametrize("how", ["light", "full"])
def test_operators_name_modules_by_their_attributes(how, request):
    recorded = request.getfixturevalue(how)
    linear = {"head", "out"} | {f"layers.{i}.{which}" for i in range(3) for which in ("inner", "outer")}
    calls = collections.Counter()
    for place in recorded.rows["aten::addmm"]["places"]:
        calls[place["module"]] += place["calls"]
    assert calls == {path: recorded.n_steps for path in linear}
    assert {p["module"] for p in recorded.rows["aten::mm"]["places"]} == linear  # backward
    assert {p["module"] for p in recorded.rows["aten::convolution_backward"]["places"]} == {"pool.first", "pool.second"}
    assert {p["module"] for p in recorded.rows["aten::mse_loss"]["places"]} == {""}
    rows = module_rows(recorded.lead)
    assert rows.keys() == linear | {"", "pool", "pool.first", "pool.second", "layers.0", "layers.1", "layers.2"}
    assert rows["layers.1.outer"]["name"].startswith("Linear_") and rows["layers.1.outer"]["depth"] == 2
    assert 0 < rows["layers.1"]["share"] < rows[""]["share"] < 1
    assert rows["layers.1"]["backward_s"] > 0


def test_modules_of_full_traces_have_calls_and_memory(full):
    rows = module_rows(full.lead)
    assert rows["layers.1"]["calls"] == full.n_steps
    assert rows["layers.1.outer"]["bytes"] == full.n_steps * 16 * 48 * 4  # what it returns


def test_modules_of_light_recordings_have_the_time_of_operators(light):
    rows = module_rows(light.lead)
    assert {row["calls"] for row in rows.values()} == {None}
    assert rows["layers.1"]["total_s"] == pytest.approx(sum(rows[path]["self_s"] for path in ("layers.1", "layers.1.inner", "layers.1.outer")))
    linear = sum(row["total_s"] for path, row in rows.items() if row["name"].startswith("Linear_"))
    assert linear == pytest.approx(light.rows["aten::linear"]["cpu_s"])
    assert rows["layers.1.outer"]["operators"] == light.n_steps * rows["out"]["operators"] // light.n_steps
    said = report(light.lead, "--modules")
    assert "times are of operators" in said and "calls" not in said.splitlines()[1]


MODULES = """
import gc, sys, threading, torch
from torch import nn
class Tanh(nn.Module):
    def forward(self, x): return torch.tanh(x)
class Work(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how
    def forward(self, x): return getattr(torch, self.how)(x)
class Net(nn.Module):
    def __init__(self, names):
        super().__init__()
        for name in names:
            setattr(self, name, Work(name))
        self.many = nn.ModuleDict({"shared": Tanh()})
        self.again = self.many["shared"]
    def forward(self, x):
        for name in ("exp", "sin", "cos"):
            x = getattr(self, name)(x)
        return self.again(self.many["shared"](x)).sigmoid()
x, names = torch.ones(4), ["exp", "sin", "cos"]
for i in range(30):  # each takes the places of those before in memory, in another order
    net = Net(names[i % 3:] + names[:i % 3])
    net(x)
    del net
    gc.collect()
    nn.Softplus()(x)  # lives no longer than its call
torch.erf(x)
last = Net(names)
thread = threading.Thread(target=lambda: last.many["shared"](x).log())
thread.start()
thread.join()
print(len(gc.get_objects()) > 0, file=sys.stderr)
"""


def test_modules_that_die_do_not_lend_their_names(tmp_path):
    (tmp_path / "modules.py").write_text(MODULES)
    rows = {row["name"]: row for row in operators(record(tmp_path, "--torch", tmp_path / "modules.py"))}

    def modules(name):
        calls = collections.Counter()
        for place in rows[f"aten::{name}"]["places"]:
            calls[place["module"]] += place["calls"]
        return calls

    for name in ("exp", "sin", "cos"):
        found = modules(name)
        assert sum(found.values()) == 30 and {m for m in found if not m.startswith("Work_")} == {name}, found
        assert found[name] >= 5, found  # as long as asking for them is cheap
    assert {m for m in modules("tanh") if not m.startswith("Tanh_")} == {"many.shared"}
    assert all(m.startswith("Net_") for m in modules("sigmoid"))
    assert all(m.startswith("Softplus_") for m in modules("softplus"))
    assert modules("erf") == {"": 1} and modules("log") == {"": 1}


FORKED = """
import os, torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
net(torch.ones(2, 4))
pid = os.fork()
net(torch.ones(2, 4))
if pid:
    os.waitpid(pid, 0)
"""


def test_a_forked_child_has_its_modules(tmp_path):
    (tmp_path / "forked.py").write_text("import torch\ntorch.set_num_threads(1)\n" + FORKED)
    rows = {row["name"]: row for row in operators(record(tmp_path, "--torch", tmp_path / "forked.py"))}
    for name, path in (("aten::tanh", "1"), ("aten::addmm", "0")):
        assert [(p["module"], p["calls"]) for p in rows[name]["places"] if p["calls"] == 2] == [(path, 2)]  # after the fork
        assert {p["module"] for p in rows[name]["places"]} == {path} and rows[name]["calls"] == 3


def test_the_table_opens_into_places(light):
    table = report(light.lead, "--ops", "--limit=-1")
    row = next(line for line in table.splitlines() if re.search(r"aten::max_pool2d_with_indices\b(?!_)", line))
    assert "2 places)" in row
    opened = report(light.lead, "--ops", "--limit=-1", "--places").splitlines()
    at = next(i for i, line in enumerate(opened) if re.search(r"aten::max_pool2d_with_indices\b(?!_)", line))
    below = "\n".join(opened[at + 1:at + 3])
    for which in ("pool-1", "pool-2"):
        assert f"places.py({LINES[which]}): Pool.forward" in below
    assert report(light.lead, "--ops").count("--places splits") == 1


@pytest.mark.parametrize("how", ["light", "full"])
def test_operators_have_callers_and_callees(how, request):
    recorded = request.getfixturevalue(how)
    told = json.loads(report(recorded.lead, "--ops", "--json", "--callers", "addmm", "--callees", "aten::linear"))
    (addmm,), (linear,) = told["operator_callers"], told["operator_callees"]
    n = 8 * recorded.n_steps
    assert "operators" not in told
    assert addmm["operator"] == "aten::addmm" and addmm["calls"] == n
    assert [(x["name"], x["calls"]) for x in addmm["callers"]] == [("aten::linear", n)]
    assert {x["name"]: x["calls"] for x in linear["callees"]} == {"aten::addmm": n, "aten::t": n, "": 0}
    assert sum(x["cpu_s"] for x in linear["callees"]) == pytest.approx(linear["cpu_s"])
    assert linear["cpu_s"] == pytest.approx(recorded.rows["aten::linear"]["cpu_s"])
    text = report(recorded.lead, "--ops", "--callers", "addmm")
    assert "Callers of aten::addmm" in text and "aten::linear" in text and "Operators of" not in text


def test_places_say_why_there_is_nothing_to_split():
    said = report(ROOT / "tests" / "data" / "torch" / "mlp_plain.pt.trace.json.gz", "--ops", "--places")
    assert "nothing to split: the file has no lines of Python; leadline run --torch records them" in said


def test_no_operator_of_that_name(light):
    done = subprocess.run([LEADLINE, "report", light.lead, "--ops", "--callers", "nothing_like_it"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2 and "no operator matches 'nothing_like_it'" in done.stderr


@pytest.mark.parametrize("how", ["--torch", "--torch=full:all"])
def test_an_example_names_lines(how, tmp_path):
    """Its own update of the parameters has no call that a profiler sees: -= and *."""
    rows = operators(record(tmp_path, how, EXAMPLE, "0.06"))
    assert share_with_line(rows) >= 0.9
    update = next(i for i, line in enumerate(EXAMPLE.read_text().splitlines(), 1) if "p -= " in line)
    (sub,) = (row for row in rows if row["name"] == "aten::sub_")
    assert [p["source"].split("vae_lists.py")[-1] for p in sub["places"]] == [f"({update}): update"]


@pytest.mark.parametrize("how", ["light", "full"])
def test_lines_survive_the_way_into_a_trace_and_back(how, request, tmp_path):
    recorded = request.getfixturevalue(how)
    trace, again = tmp_path / "x.pt.trace.json", tmp_path / "again.lead"
    subprocess.run([LEADLINE, "export", recorded.lead, "-o", trace], check=True, capture_output=True, timeout=SECONDS)
    for file in (trace, again):
        if file is again:
            subprocess.run([LEADLINE, "export", "--force", trace, "-o", again], check=True, capture_output=True, timeout=SECONDS)
        rows = {row["name"]: row for row in operators(file)}
        for name in ("aten::max_pool2d_with_indices", "aten::tanh", "aten::tanh_backward", "aten::mm"):
            assert places(rows[name]) == places(recorded.rows[name]), (file.name, name)


REGIONS = """
import torch
from torch.profiler import record_function
for name in {names!r}:
    with record_function(name):
        torch.ones(3).sum()
"""
NAMES = ["größe", "日本語 🚀", "tab\there", "two\nlines", 'quote " and \\ slash', "plain"]


@pytest.mark.parametrize("how", ["--torch", "--torch=full:all"])
def test_regions_keep_their_names(how, tmp_path):
    (tmp_path / "regions.py").write_text(REGIONS.format(names=NAMES))
    rows = [row["name"] for row in operators(record(tmp_path, how, tmp_path / "regions.py"))]
    assert [name for name in NAMES if name not in rows] == []


def test_names_that_torch_spoiled_are_told(tmp_path):
    torch = pytest.importorskip("torch")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        with torch.profiler.record_function("größe"):
            torch.ones(3).sum()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    done = subprocess.run([LEADLINE, "report", tmp_path / "trace.json", "--ops"], capture_output=True, text=True, timeout=SECONDS)
    if "größe" not in done.stdout:  # as of 2.13
        assert '1 region is called "unknown"' in done.stderr


def test_a_trace_without_call_lines_names_functions(tmp_path):
    """Not the line a function begins at, nor the one that was running when the profiler began."""
    pytest.importorskip("torch")
    script = tmp_path / "own.py"
    script.write_text("import sys, torch\ndef work():\n    x = torch.ones(50)\n    return torch.tanh(x)\n"
                      "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as prof:\n"
                      "    work()\n    torch.exp(torch.ones(50))\nprof.export_chrome_trace(sys.argv[1])\n")
    subprocess.run([sys.executable, script, tmp_path / "trace.json"], check=True, capture_output=True, timeout=SECONDS)
    if "CallFrom" in (tmp_path / "trace.json").read_text():
        pytest.skip("this torch tells them")
    rows = {row["name"]: row["source"] for row in operators(tmp_path / "trace.json")}
    assert rows["aten::tanh"] == "own.py: work" and rows["aten::exp"] == "own.py: <module>"


TWO_MODELS = """
import torch
from torch import nn
from torch.nn import functional as F
def make(x): return torch.tanh(make_out(torch.relu(make_in(x))))
def judge(x): return judge_out(F.leaky_relu(judge_in(x)))
make_in, make_out, judge_in, judge_out = nn.Linear(8, 32), nn.Linear(32, 16), nn.Linear(16, 32), nn.Linear(32, 1)
one, zero = torch.ones(8, 1), torch.zeros(8, 1)
for _ in range(6):
    made = make(torch.randn(8, 8))
    (F.mse_loss(judge(torch.randn(8, 16)), one) + F.mse_loss(judge(made.detach()), zero)).backward()
    F.mse_loss(judge(made), one).backward()
"""


def test_two_models_and_no_line_that_is_not_true(tmp_path):
    """What was made before one backward() is gone back to by the next, and some of it cannot be told apart: then backward()'s line stands."""
    (tmp_path / "two.py").write_text(TWO_MODELS.lstrip("\n"))
    rows = {row["name"]: row for row in operators(record(tmp_path, "--torch", tmp_path / "two.py"))}
    lines = {"TanhBackward0": {4}, "ReluBackward0": {4}, "LeakyReluBackward0": {5}, "AddmmBackward0": {4, 5}, "MseLossBackward0": {10, 11}}
    for name, truth in lines.items():
        told = [(int(re.search(r"two\.py\((\d+)\)", p["source"])[1]), p["backward"], p["calls"]) for p in rows[name]["places"]]
        assert {line for line, backward, _ in told if backward} <= truth, (name, told)
        assert {line for line, backward, _ in told if not backward} <= {10, 11}, (name, told)
    for name, calls in (("TanhBackward0", 6), ("ReluBackward0", 6), ("LeakyReluBackward0", 18)):
        assert [p["calls"] for p in rows[name]["places"] if p["backward"]] == [calls], name
