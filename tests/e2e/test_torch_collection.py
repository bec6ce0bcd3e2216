"""What `run --torch` and `--torch=full` collect, held against what the programs and torch itself say."""
import json
import os
import subprocess
import sys

import pytest
from conftest import LEADLINE, ROOT

TARGETS = ROOT / "tests" / "targets" / "torch"


def record(folder, how, program, *words):
    pytest.importorskip("torch")
    path = folder / "x.lead"
    done = subprocess.run([LEADLINE, "run", f"--torch{how}", "--python", sys.executable, "-o", path, program, *words], cwd=folder, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    return path, json.loads(done.stdout.splitlines()[-1]), done.stderr


def operators(tool, path):
    return {r["name"]: r for r in json.loads(tool("report", "--ops", "--json", "--limit=0", path).stdout)["operators"]}


# ---- threads


@pytest.mark.parametrize("how", ["", "=full:all"])
def test_requests_answered_in_threads_are_seen(tool, tmp_path, how):
    path, truth, error = record(tmp_path, how, TARGETS / "serving.py", "120")
    rows = operators(tool, path)
    assert sum(truth["by_worker"].values()) == truth["requests"] == rows["request"]["calls"] == 120
    assert rows["aten::linear"]["calls"] == truth["linear"]
    assert rows["aten::ones"]["calls"] == 120  # the main thread's
    assert ("memory was not recorded from when the first thread was started" in error) == (how != "")


LONE = """
import json, torch, threading
made = torch.ones(1000)
print(json.dumps({"calls": 1}))
"""


def test_a_program_of_one_thread_keeps_its_memory(tool, tmp_path):
    (tmp_path / "x.py").write_text(LONE)
    path, _, error = record(tmp_path, "=full:all", tmp_path / "x.py")
    assert operators(tool, path)["aten::empty"]["self_cpu_bytes"] == 4000 and "memory was not recorded" not in error


LATE = """
import json, threading, torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def step():
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()

def work():
    for _ in range(5):
        torch.zeros(3)

for _ in range(3):
    step()
worker = threading.Thread(target=work, name="late one")
worker.start()
worker.join()
for _ in range(3):
    step()
print(json.dumps({}))
"""


def test_threads_started_while_steps_are_recorded_are_named(tool, tmp_path):
    (tmp_path / "x.py").write_text(LATE)
    path, _, error = record(tmp_path, "=full:1,1,4", tmp_path / "x.py")
    assert "Operators: not seen in 1 thread (late one): started while recording; --torch=full:all sees all." in error
    assert "aten::zeros" not in operators(tool, path)


# ---- FLOPs, against torch's own counter


FLOPS = """
import json, sys, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

torch.manual_seed(0)

class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 10)

    def forward(self, x):
        q, k, v = (part.view(2, 12, 4, 8).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 12, 32))

class Old(Attends):
    def forward(self, x):
        q, k, v = (part.view(2, 12, 4, 8).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.out((torch.softmax(q @ k.transpose(-1, -2), -1) @ v).transpose(1, 2).reshape(2, 12, 32))

cnn = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding="same", bias=False), nn.ReLU(),
                    nn.ConvTranspose2d(8, 4, 4, stride=2), nn.Flatten(1), nn.Linear(4 * 18 * 18, 10))
conv1d = nn.Sequential(nn.Conv1d(4, 6, 5, dilation=2), nn.ReLU(), nn.Conv1d(6, 2, 3), nn.Flatten(1), nn.Linear(2 * 30, 10))
mlp = nn.Sequential(nn.Linear(20, 30), nn.GELU(), nn.Linear(30, 10))
models = {"cnn": (cnn, torch.randn(2, 3, 16, 16)), "conv1d": (conv1d, torch.randn(3, 4, 40)), "mlp": (mlp, torch.randn(5, 20)),
          "attends": (Attends(), torch.randn(2, 12, 32)), "old": (Old(), torch.randn(2, 12, 32))}
name = sys.argv[1]
model, x = models[name]
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def step():
    optimizer.zero_grad()
    F.cross_entropy(model(x).reshape(-1, 10), torch.zeros(model(x).reshape(-1, 10).shape[0], dtype=torch.long)).backward()
    optimizer.step()

with FlopCounterMode(display=False) as counter:
    step()
total = counter.get_total_flops()
if name == "attends":  # the counter does not know what the CPU attends with
    shape = (2, 4, 12, 8)
    total += 2 * sdpa_flop_count(shape, shape, shape) + sdpa_backward_flop_count(shape, shape, shape, shape)
for _ in range(5):
    step()
print(json.dumps({"flops": total}))
"""


@pytest.mark.parametrize("model", ["cnn", "conv1d", "mlp", "attends", "old"])
def test_flops_are_those_of_torchs_counter(tool, tmp_path, model):
    (tmp_path / "x.py").write_text(FLOPS)
    path, truth, _ = record(tmp_path, "=full:1,1,3", tmp_path / "x.py", model)
    seen = json.loads(tool("report", "--overview", "--ops", "--json", "--limit=0", path).stdout)
    assert sum(r.get("flops") or 0 for r in seen["operators"]) == 3 * truth["flops"]
    assert seen["work"]["flops"] == 3 * truth["flops"]


# ---- what collecting costs


def test_what_collecting_operators_costs_is_told(tool, tmp_path):
    path, truth, error = record(tmp_path, "", TARGETS / "lstm.py", "4", "20")
    seen = json.loads(tool("report", "--overview", "--ops", "--json", "--limit=0", path).stdout)
    rows = {r["name"]: r["calls"] for r in seen["operators"]}
    assert rows["aten::lstm_cell"] == truth["cells"] == 80
    assert not rows.keys() & {"aten::squeeze", "aten::reshape", "aten::mul_"}  # what was run to measure it is not kept
    assert 20e-9 < seen["overview"]["collecting_call_s"] < 1e-4 and 0 < seen["overview"]["collecting_share"] < 1
    said = json.loads(tool("report", "--json", path).stdout)["fidelity"]
    assert said["operators_slowdown_share"] > 0
    assert "of collecting each" in error and "collecting operators slowed" in " ".join(error.split())
    assert "Collecting operators took about" in tool("report", "--overview", path).stdout


def test_without_memory_the_way_to_it_is_told(tool, tmp_path):
    (tmp_path / "x.py").write_text(LONE)
    path, _, _ = record(tmp_path, "", tmp_path / "x.py")
    assert "record with leadline run --torch=full to see them" in tool("report", "--memory", path).stdout
    assert "no operator ran in a module" in tool("report", "--modules", path).stdout


ASKED = """
import sys
sys.path.insert(0, sys.argv[1])
import json, leadline, torch
net = torch.nn.Linear(4, 4)
with leadline.torch.profile(record_shapes=True) as prof:
    net(torch.ones(2, 4)).sum().backward()
text = prof.report("--overview")
told = json.loads(prof.report("--ops", "--json", "--limit=0"))
print(json.dumps({"overview": "Overview" in text, "addmm": [r["calls"] for r in told["operators"] if r["name"] == "aten::addmm"]}))
"""


def test_a_profile_is_asked_for_its_report(tool, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "x.py").write_text(ASKED)
    done = subprocess.run([sys.executable, tmp_path / "x.py", ROOT / "python"], capture_output=True, text=True, timeout=200, check=True, env={**os.environ, "LEADLINE_BINARY": str(LEADLINE)})
    assert json.loads(done.stdout.splitlines()[-1]) == {"overview": True, "addmm": [1]}
