"""What sampling allocations costs a program that does little else, beside memray where it is installed: python3 benchmarks/memory.py [ROUNDS]

Each round runs every way once, in turn; a figure is the median over the rounds of its ratio to the plain run of the same round. Times are the
program's own CPU time, without the start of interpreters and tools. Bars: hooks alone 1.05, the default period 1.10.
"""

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LEADLINE = os.environ.get("LEADLINE") or Path(__file__).resolve().parents[1] / "build" / "leadline"
PROGRAM = """
import array, sys, time

def build(n):
    return [{"i": i, "s": "x%d" % i, "t": (i, i + 1)} for i in range(n)]

def churn(n):
    t = 0
    for i in range(n):
        b = bytearray(64 + (i & 1023))
        t += len(b) + len([i] * 8)
    return t

def large():
    return sum(len(array.array("d", [0.0]) * (1 << 18)) for _ in range(40))

began = time.process_time()
kept = build(150_000)
churn(600_000)
large()
del kept
build(50_000)
print(time.process_time() - began)
"""


def ways(folder, script):
    recording = ["--force", "-o", folder / "x.lead"]
    own = [sys.executable, script]
    found = {
        "plain": own,
        "hooks, hardly a sample": [LEADLINE, "memory", *recording, "--period", "64M", "--", *own],
        "period 512k": [LEADLINE, "memory", *recording, "--period", "512k", "--", *own],
        "period 128k (default)": [LEADLINE, "memory", *recording, "--", *own],
        "period 32k": [LEADLINE, "memory", *recording, "--period", "32k", "--", *own],
    }
    if importlib.util.find_spec("memray"):
        memray = [sys.executable, "-m", "memray", "run", "-q", "-f", "-o", folder / "x.bin"]
        found["memray"] = [*memray, script]
        found["memray, with Python's allocators"] = [*memray, "--trace-python-allocators", script]
    return found


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    ratios = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "alloc.py"
        script.write_text(PROGRAM)
        for _ in range(rounds):
            plain = None
            for way, command in ways(folder, script).items():
                r = subprocess.run(command, capture_output=True, text=True, check=True)
                seconds = float(r.stdout.split()[0])
                plain = plain or seconds
                ratios.setdefault(way, []).append(seconds / plain)
    for way, values in ratios.items():
        print(f"{way:34} {statistics.median(values):6.3f} ×   {min(values):.3f} … {max(values):.3f}")


if __name__ == "__main__":
    main()
