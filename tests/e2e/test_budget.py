"""What `run --budget` counts: exactly what is not hot, estimates of the rest that hold the truth."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from interpreters import EXPECTED, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
SECONDS = 100
OLD = ("3.8", "3.9", "3.10", "3.11")
NEW = tuple(label for label in EXPECTED if label not in OLD)

PROGRAM = """
import threading

def tiny(x):
    return x + 1

def work(n):
    s = 0
    for i in range(n):
        s = tiny(s) + abs(i)
    return s

def rare(i):
    try:
        return thrower(i)
    except ValueError:
        return sorted([i, 1, 2], key=lambda x: -x)[0]

def thrower(i):
    if i % 2:
        raise ValueError(i)
    return i

def numbers(n):
    yield from range(n)

def down(n):
    return down(n - 1) if n else 0

total = 0
for i in range(400):
    total += work(5000) + rare(i) + sum(numbers(3)) + down(5)
t = threading.Thread(target=work, args=(1000,))
t.start()
t.join()
print(total)
"""
HOT = {"tiny": 2_001_000, "{built-in method builtins.abs}": 2_001_000}
COOL = {"work": 401, "rare": 400, "thrower": 400, "numbers": 400, "down": 2400, "rare.<locals>.<lambda>": 600,
        "{built-in method builtins.sum}": 400, "{built-in method builtins.sorted}": 200}


def run(label, *options, text=PROGRAM):
    """(the result, its JSON) of the program above, or another."""
    shared = shared_folder(label)
    with tempfile.TemporaryDirectory(dir=shared) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        program = Path(folder) / "program.py"
        program.write_text(text)
        r = subprocess.run([LEADLINE, "run", *options, f"--json={own}/x.json", "-o", f"{own}/x.lead", "--",
                            *require(label).command(str(program))],
                           env={**os.environ, "TMPDIR": shared}, capture_output=True, text=True, timeout=SECONDS)
        return r, json.loads(Path(f"{own}/x.json").read_text())


def functions(page):
    return {f["name"]: f for f in page["functions"]}


@pytest.mark.parametrize("label", NEW)
def test_what_is_hot_is_estimated_and_all_else_exact(draw, label):
    r, page = run(label, "--budget", "10%")
    assert r.returncode == 0 and r.stdout.strip() == "5001081001", r
    found = functions(page)
    exact = [name for name in COOL if not found[name]["is_estimated"]]
    assert {name: found[name]["calls"] for name in exact} == {name: COOL[name] for name in exact}
    # What is hot is decided by what calls cost, and an estimate may be one of the few whose interval misses the truth.
    draw.median("cool functions estimated", len(COOL) - len(exact), high=0)
    covered = 0
    for name, truth in HOT.items():
        f = found[name]
        draw.verdict(f"{name} estimated", f["is_estimated"], True)
        covered += f["calls"] == truth if not f["is_estimated"] else f["calls_low"] <= truth and (f["calls_high"] is None or truth <= f["calls_high"])
    draw.share("intervals that hold the truth", covered, len(HOT), low=0.75)
    draw.median("estimated functions", page["trace"]["estimated_functions"], high=8)
    assert "estimated, the others exact" in r.stderr


LONE = """
def lone(x):
    for i in range(100):
        x += i
    return x

def main():
    for i in range(400000):
        lone(i)

main()
"""


@pytest.mark.parametrize("label", NEW)
def test_a_loop_that_calls_one_function_alone_has_windows(draw, label):
    """All that runs is off, and no thread of ours is there to open one: the function itself tells the time."""
    f = functions(run(label, "--budget", "10%", text=LONE)[1])["lone"]
    assert f["is_estimated"], f
    draw.verdict("windows", "open" if f["calls_high"] is not None else "none", "open")
    draw.verdict("the true number", "held" if f["calls_low"] <= 400000 <= (f["calls_high"] or 0) else f, "held")


FORKED = """
import os

def tiny(x):
    return x + 1

def work(n):
    for i in range(n):
        tiny(i)

work(6000)
pid = os.fork()
if pid == 0:
    work(100000)
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize("label", NEW)
def test_a_child_counts_what_its_parent_had_switched_off(label):
    f = functions(run(label, "--budget", "10%", text=FORKED)[1])["tiny"]
    assert f["calls_low"] >= 2 * 2048, f


@pytest.mark.parametrize("label", OLD)
def test_earlier_versions_say_that_they_cannot(label):
    r, page = run(label, "--budget", "10%")
    assert r.returncode == 0 and r.stdout.strip() == "5001081001"
    assert "--budget needs Python 3.12" in r.stderr and "--trace" in r.stderr and "sampled" in r.stderr


def test_a_share_is_wanted():
    for options in (["--budget", "0"], ["--budget", "200%"], ["--budget", "x"], ["--budget", "5%", "--count"]):
        r = subprocess.run([LEADLINE, "run", *options, "x.py"], capture_output=True, text=True, check=False, timeout=SECONDS)
        assert r.returncode == 125 and "--budget" in r.stderr, r
