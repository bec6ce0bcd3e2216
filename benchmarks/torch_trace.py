"""Traces of torch.profiler: how fast a large one is read and summed up, and torch's key_averages() on the same events.

    python benchmarks/torch_trace.py [MB]         of the generated traces, 1000

The traces are the stored ones repeated, with times and numbers that go on. Times are CPU time of the process, so that others on the machine do
not count. Bars: 400 MB/s of JSON; 1 GB within 5 s and 300 MB; 50 times as fast as key_averages(), reading included; a recording of all of it in a tenth of the JSON.
"""
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEADLINE = ROOT / "build" / "leadline"
DATA = ROOT / "tests" / "data" / "torch"
RECORDED = 100_000_000  # bytes of the traces that become recordings


def jitter(text, rng):
    """Times that differ as those of real steps do, so that nothing is small only because it comes again."""
    text = re.sub(r'"ts": (\d+)\.\d+', lambda m: f'"ts": {int(m[1]) + rng.randrange(3)}.{rng.randrange(1000):03}', text)
    return re.sub(r'"dur": (\d+)\.\d+', lambda m: f'"dur": {int(int(m[1]) * rng.uniform(0.8, 1.4))}.{rng.randrange(1000):03}', text)


def repeat(name, size, path, rng=None):
    text = gzip.decompress((DATA / f"{name}.pt.trace.json.gz").read_bytes()).decode()
    begin, end = text.index('"traceEvents": [') + 16, text.rindex("],")
    body, done, k = text[begin:end].strip().rstrip(","), 0, 0
    with open(path, "w") as out:
        out.write(text[:begin])
        while done < size:
            part = re.sub(r'"ts": (\d+)\.', lambda m: f'"ts": {int(m[1]) + k * 20000}.', body)
            part = re.sub(r'"External id": (\d+)', lambda m: f'"External id": {int(m[1]) + k * 5000}', part)
            done += out.write(("," if k else "") + (jitter(part, rng) if rng else part))
            k += 1
        out.write(text[end:])


SMALL = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3)
sys.exit(status != 0)
"""


def cpu(*command):
    """CPU seconds and peak MB of one run, started by a small process: a child's peak begins with its parent's size."""
    said = subprocess.run([sys.executable, "-S", "-c", SMALL, *map(str, command)], check=True, capture_output=True, text=True).stdout
    seconds, memory = said.split()
    return float(seconds), float(memory)


def reading(size):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/big.json"
        for name in ("mlp_plain", "conv_full", "h200_conv"):
            repeat(name, size, path)
            mb = os.path.getsize(path) / 1e6
            for how in (["--torch"], []):
                seconds, memory = min(cpu(LEADLINE, "report", "--ops", *how, path) for _ in range(3))
                print(f"{name} repeated to {mb:.0f} MB, --ops {' '.join(how)}: {seconds:.2f} s of CPU, {mb / seconds:.0f} MB/s, peak {memory:.0f} MB")
            if name == "mlp_plain" and mb < 400:
                begun = time.process_time()
                json.loads(pathlib.Path(path).read_text())
                print(f"json.loads alone: {mb / (time.process_time() - begun):.0f} MB/s")
            repeat(name, min(size, RECORDED), path, random.Random(1))
            recording(name, path, f"{folder}/big.lead", os.path.getsize(path) / 1e6)


def recording(name, path, lead, mb):
    """The trace as a recording and as a trace again, with all arguments: sizes, times, and whether the tables are the same."""
    seconds, memory = cpu(LEADLINE, "export", path, "-o", lead)
    size = os.path.getsize(lead) / 1e6
    print(f"{name} as a recording: {size:.1f} MB, 1/{mb / size:.0f} of the JSON; written in {seconds:.2f} s of CPU, peak {memory:.0f} MB")
    options = ["report", "--ops", "--torch", "--limit=-1"]
    seconds, memory = min(cpu(LEADLINE, *options, lead) for _ in range(3))
    texts = [subprocess.run([LEADLINE, *options, p], check=True, capture_output=True).stdout for p in (path, lead)]
    print(f"  its --ops --torch: {seconds:.2f} s of CPU, peak {memory:.0f} MB, {'the same text' if texts[0] == texts[1] else 'NOT the same text'}")
    again = lead.replace(".lead", ".pt.trace.json")
    seconds, memory = cpu(LEADLINE, "export", lead, "-o", again)
    print(f"  as a trace again: {seconds:.2f} s of CPU, {os.path.getsize(again) / 1e6 / seconds:.0f} MB/s, peak {memory:.0f} MB")
    os.unlink(again)


PROFILED = """
import sys, time, torch
from torch.profiler import ProfilerActivity, profile
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(100, 50), torch.nn.ReLU(), torch.nn.Linear(50, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(64, 100), torch.randn(64, 10)
with profile(activities=[ProfilerActivity.CPU]) as prof:
    for _ in range(int(sys.argv[2])):
        opt.zero_grad(); torch.nn.functional.mse_loss(net(x), y).backward(); opt.step()
prof.export_chrome_trace(sys.argv[1])
begun = time.process_time()
text = prof.key_averages().table(sort_by="cpu_time_total", row_limit=-1)
print(time.process_time() - begun)
open(sys.argv[1] + ".txt", "w").write(text)
"""


def against_torch(steps):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/t.json"
        said = subprocess.run([sys.executable, "-c", PROFILED, path, str(steps)], check=True, capture_output=True, text=True).stdout
        theirs = float(said.split()[-1])
        options = ["report", "--ops", "--torch", "--sort=cpu_time_total", "--limit=-1", path]
        ours = min(cpu(LEADLINE, *options)[0] for _ in range(3))
        text = subprocess.run([LEADLINE, *options], check=True, capture_output=True, text=True).stdout
        same = "the same text" if text == pathlib.Path(path + ".txt").read_text() else "NOT the same text"
        print(f"{steps} steps, {os.path.getsize(path) / 1e6:.0f} MB: key_averages().table() {theirs:.2f} s of CPU, leadline with reading {ours:.3f} s: "
              f"{theirs / ours:.0f} times as fast, {same}")


if __name__ == "__main__":
    against_torch(300)
    against_torch(1500)
    reading(int(sys.argv[1] if len(sys.argv) > 1 else 1000) * 1000000)
