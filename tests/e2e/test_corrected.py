"""Corrected times of traced calls: each has an interval, and that of programs nobody calibrated with holds what they take untraced."""
import argparse
import json
import os
import re
import subprocess
import sys

import conftest
import pytest
from interpreters import EXPECTED, inside, require, shared_folder

sys.path.insert(0, str(conftest.ROOT / "benchmarks"))
import times  # noqa: E402

SECONDS = 300
PROGRAM = '''
import time

class Tank:
    level = 0
    def fill(self, by):
        self.level = (self.level + by) % 1009
        return self.level

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers(n):
    for i in range(n):
        yield i

def loop(n):
    x = 0
    for i in range(n):
        x = (x * 3 + i) & 255
    return x

def main():
    fib(15)
    tank = Tank()
    for i in numbers(2000):
        tank.fill(i)
        len("abc")
    for _ in range(20):
        loop(2000)

main()
'''
RARE = '''
import time

def rest():
    time.sleep(0.004)

for _ in range(100):
    rest()
'''


def traced(label, source, folder):
    """A recording of it."""
    script = folder / "program.py"
    script.write_text(source)
    recording = folder / f"{len(list(folder.iterdir()))}.lead"
    with inside(label, script) as place:
        subprocess.run(
            [conftest.LEADLINE, "run", "--trace", "--report=/dev/null", "-o", recording, "--", *require(label).command(str(place))],
            env={**os.environ, "TMPDIR": shared_folder(label)}, check=True, timeout=SECONDS,
        )
    return recording


def reported(recording, *options):
    return subprocess.run([conftest.LEADLINE, "report", "-n", "0", *options, recording], stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.parametrize("label", EXPECTED)
def test_every_corrected_time_has_an_interval(label, tmp_path):
    recording = traced(label, PROGRAM, tmp_path)
    said = json.loads(reported(recording, "--json"))
    rows = {f["name"]: f for f in said["functions"]}
    assert {"fib", "main", "loop", "numbers", "{built-in method builtins.len}"} <= set(rows)
    for f in rows.values():
        for of in ("self", "total"):
            low, corrected, high, raw = f[f"{of}_low"], f[of], f[f"{of}_high"], f[f"raw_{of}"]
            assert 0 <= low <= corrected <= high <= raw + 1e-12, f
            assert f[f"{of}_is_bound"] == (high - low > 0.15 * (high + low)), f
    trace = said["trace"]
    assert 0 <= trace["self_low"] <= trace["self"] <= trace["self_high"] <= trace["raw_self"] + 1e-12
    assert rows["fib"]["self_low"] < rows["fib"]["self_high"]
    for kind in ("callers", "callees"):
        (found,) = json.loads(reported(recording, "--json", f"--{kind}", "main"))[kind]
        assert all(n["value_low"] <= n["value"] <= n["value_high"] for n in found[kind])


def nodes_below(nodes):
    for n in nodes:
        yield n
        yield from nodes_below(n["children"])


def test_trees_have_intervals_and_files_for_others_say_that_there_are_some(tmp_path):
    recording = traced("3.13", PROGRAM, tmp_path)
    said = json.loads(reported(recording, "--json", "--tree"))
    nodes = list(nodes_below(said["tree"]))
    assert {"fib", "loop", "main"} <= {n["name"] for n in nodes}
    for n in nodes:
        assert 0 <= n["total_low"] <= n["total"] + 1e-9 and n["total"] <= n["total_high"] + 1e-9, n
        assert n["total_is_bound"] == (n["total_high"] - n["total_low"] > 0.15 * (n["total_high"] + n["total_low"])), n
    text = reported(recording, "--tree")
    assert re.search(r"^ *total +self +± total +calls +function$", text, re.MULTILINE) and "±: how far the total may be" in text, text
    r = subprocess.run([conftest.LEADLINE, "export", recording, "-o", tmp_path / "x.pstats"], capture_output=True, text=True, check=True)
    assert re.search(r"times exclude the cost of tracing; in all they are between .+ and .+; leadline report shows how far each may be off$", r.stderr, re.MULTILINE), r.stderr


def test_bounds_stand_behind_the_time_as_stamped(tmp_path):
    recording = traced("3.13", PROGRAM, tmp_path)
    rows = {f["name"]: f for f in json.loads(reported(recording, "--json"))["functions"]}
    text = reported(recording)
    bound = rows["{built-in method builtins.len}"]
    assert bound["self_is_bound"]  # nothing but tracing
    assert re.search(r"^ *ncalls +tottime +± +percall +cumtime +± ", text, re.MULTILINE), text
    (line,) = [line for line in text.splitlines() if "builtins.len" in line or "ltins.len}" in line]
    assert re.match(rf" *2000 +{bound['raw_self']:.3f} +[0-9.]+–[0-9.]+ [mµn]?s ", line), line
    assert "bounds" in text
    raw = reported(recording, "--raw")
    assert "±" not in raw and "bounds" not in raw.replace(str(tmp_path), "")
    stats = subprocess.run([conftest.LEADLINE, "stats", recording, "-c", "stats 1"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert re.search(r"^times exclude the cost of tracing: [0-9.]+ seconds, [0-9.]+ to [0-9.]+ \(as stamped [0-9.]+\)$", stats, re.MULTILINE), stats


@pytest.mark.parametrize("label", ("3.8", "3.11", "3.13", "3.14"))
def test_rare_calls_cost_what_a_call_costs(label, tmp_path, draw):
    recording = traced(label, RARE, tmp_path)
    trace = json.loads(reported(recording, "--json"))["trace"]
    assert 0 < trace["event_cost_s"] < 1e-6
    number, unit = re.search(r"\(([0-9.]+) (\S+) each, calibrated", " ".join(reported(recording).split())).groups()
    assert float(number) * {"ns": 1e-9, "µs": 1e-6}[unit] == pytest.approx(trace["event_cost_s"], rel=0.01)
    # Each look at the CPU's pace takes some 10 µs, and nothing is won by it here.
    draw.hold("cost of a rare call, µs", min(draw.add("costs", trace["cost_s"] / trace["calls"] * 1e6)), high=3)


@pytest.mark.parametrize("label", ("3.8", "3.13"))
def test_programs_nobody_calibrated_with_are_within_their_intervals(label, draw):
    asked = argparse.Namespace(size=400, rounds=2, programs="kept")
    cells = list(times.cells_of(label, times.rounds_of(label, asked)))
    assert len(cells) == 20
    draw.share("within its interval, give or take what untraced runs differ by", sum(c["nearly"] for c in cells), len(cells), low=0.8)
