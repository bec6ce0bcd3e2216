"""Greenlets under `run --trace`: each has a stack of its own, on every interpreter."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from consumers import module
from interpreters import EXPECTED, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
NODES = LEADLINE.parent / "tests" / "nodes"
TARGET = ROOT / "tests" / "targets" / "greenlets.py"
SECONDS = 100
COUNTS = {"ping": 1, "pong": 1, "step_a": 40, "step_b": 40, "timed": 80, "spin": 80, "run_hub": 1, "worker": 20, "deep": 600, "failing": 1,
          "abandoned": 1, "cleaned": 2, "in_thread": 1}


def recorded(label, *options, argument=None):
    """(what the program says, functions by name, callers of deep, losses)"""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        shutil.copy(TARGET, folder)
        shutil.copytree(module(label, "greenlet") / "greenlet", Path(folder) / "greenlet")
        r = subprocess.run([LEADLINE, "run", *(options or ["--trace"]), "-o", f"{own}/x.lead", "--",
                            *require(label).command(f"{folder}/greenlets.py", *([argument] if argument else []))],
                           env={**os.environ, "TMPDIR": shared_folder(label)}, capture_output=True, text=True, timeout=SECONDS)
        assert r.returncode == 0, r.stderr
        shown = subprocess.run([LEADLINE, "report", "--callers", "deep", "--json", f"{own}/x.lead"], check=True, stdout=subprocess.PIPE, timeout=SECONDS)
        nodes = subprocess.run([NODES, f"{own}/x.lead"], check=True, stdout=subprocess.PIPE, timeout=SECONDS)
    said = json.loads(shown.stdout)
    functions = {f["name"].rsplit(".", 1)[-1]: f for f in said["functions"] if f["file"] == f"{folder}/greenlets.py"}
    callers = {c["name"]: c["calls"] for row in said["callers"] for c in row["callers"]}
    return json.loads(r.stdout), functions, callers, json.loads(nodes.stdout)["losses"]


@pytest.mark.parametrize("label", EXPECTED)
def test_each_has_a_stack_of_its_own(label):
    said, functions, callers, losses = recorded(label)
    assert {name: functions[name]["calls"] for name in COUNTS} == COUNTS
    assert losses == []
    assert functions["deep"]["primitive_calls"] == 200  # no greenlet runs below another
    assert callers == {"worker": 200, "deep": 400}
    # What the program measured itself; who waits spends no time.
    for step, turns in (("step_a", "ping"), ("step_b", "pong")):
        assert functions[step]["raw_total"] == pytest.approx(said[step], rel=0.5)
        assert said[step] * 0.5 < functions[turns]["raw_total"] < said[step] + 0.5 * min(said["step_a"], said["step_b"])


def test_counted_and_in_the_order_of_time():
    for options in (["--count"], ["--trace=timeline"]):
        _, functions, callers, losses = recorded("3.13", *options)
        assert {name: functions[name]["calls"] for name in COUNTS} == COUNTS and losses == []
        assert callers == {"worker": 200, "deep": 400}


@pytest.mark.parametrize("label", ["3.8", "3.13"])
def test_a_trace_function_of_the_programs_own(label):
    """One that hands on what it gets is no trouble; one that takes our place leaves counts as they were, and is told of."""
    said, functions, callers, losses = recorded(label, argument="chained")
    assert said["switches"] > 400 and callers == {"worker": 200, "deep": 400} and losses == []
    _, functions, _, losses = recorded(label, argument="alone")
    assert {name: functions[name]["calls"] for name in COUNTS} == COUNTS
    assert "stacks found again" in str(losses)
