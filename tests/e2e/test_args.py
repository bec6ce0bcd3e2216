"""What `run --args` says functions were called with, on every interpreter. Hashes are the same in every run, and so are the figures."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from interpreters import EXPECTED, inside, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
CORPUS = ROOT / "tests" / "targets" / "args_corpus.py"
SECONDS = 100


def recorded(label, *options):
    """What the corpus printed, and its functions by name."""
    with inside(label, CORPUS) as script, tempfile.TemporaryDirectory() as own:
        r = subprocess.run([LEADLINE, "run", "--args", *options, "-o", f"{own}/x.lead", f"--json={own}/x.json", "--",
                            *require(label).command(str(script))],
                           env={**os.environ, "TMPDIR": shared_folder(label)}, capture_output=True, text=True, timeout=SECONDS)
        assert r.returncode == 0, r.stderr
        said = json.loads(Path(own, "x.json").read_text())
    return r.stdout, {row["name"]: row for row in said["arguments"] if row["file"] == str(script)}


@pytest.mark.parametrize("label", EXPECTED)
def test_what_is_passed_again_is_found(label):
    out, rows = recorded(label)
    assert out == "asked 0\n"  # nothing of the program's own was called
    for name in ("fib", "distinct", "twice", "kinds", "texts", "in_threads", "many"):
        assert rows[name]["probed"] == rows[name]["calls"], rows[name]
    fib = rows["fib"]
    assert (fib["calls"], fib["distinct"], fib["opaque"]) == (21891, 21, 0)
    assert (fib["most_often"], fib["most_often_calls"], fib["most_often_over"]) == ("(int 1)", 6765, 0)
    assert fib["repeated_share"] == pytest.approx(1 - 21 / 21891)
    assert rows["distinct"]["repeated_share"] == 0 and rows["distinct"]["repeated_high_share"] < 0.06
    assert rows["distinct"]["most_often"] == ""
    assert rows["twice"]["repeated_share"] == pytest.approx(0.5, abs=0.02)
    assert rows["in_threads"]["calls"] == 4000 and rows["in_threads"]["repeated_share"] == pytest.approx(0.75, abs=0.02)
    kinds = rows["kinds"]
    assert kinds["most_often"].startswith("(None, True, int -7, int ≥ 2**63, float 0.5, str[2], bytes[3], (int 1, (int 2, ")
    assert (kinds["distinct"], kinds["opaque"]) == (1, 30)  # a list is known by its length
    assert (rows["texts"]["distinct"], rows["texts"]["opaque"], rows["texts"]["most_often"]) == (3, 0, "(str[2])")
    assert (rows["generate"]["calls"], rows["generate"]["distinct"]) == (40, 4)
    assert (rows["many"]["distinct"], rows["many"]["opaque"]) == (1, 30)  # only so many are looked at
    assert rows["objects"]["distinct"] == 4 + 2 and rows["objects"]["calls"] == 50  # by type; with the forked child's
    assert "none" not in rows  # nothing is passed


def test_without_a_clock():
    _, rows = recorded("3.13", "--count")
    assert rows["fib"]["distinct"] == 21 and rows["fib"]["repeated_s"] is None


def test_the_table_and_what_it_is_of(tmp_path):
    run = [LEADLINE, "run", "--args", "-o", tmp_path / "x.lead", "--python", sys.executable, CORPUS]
    r = subprocess.run(run, capture_output=True, text=True, check=True, timeout=SECONDS)
    assert "\nArguments\n" in r.stderr
    r = subprocess.run([LEADLINE, "report", "--args", tmp_path / "x.lead"], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert "\nArguments\n" in r.stdout and "(fib)" in r.stdout and "× (int 1)" in r.stdout
    r = subprocess.run([LEADLINE, "report", "--args", "-n", "0", tmp_path / "x.lead"], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert "calls that look the same may differ" in " ".join(r.stdout.split())
    r = subprocess.run([LEADLINE, "report", "--json", tmp_path / "x.lead"], capture_output=True, text=True, check=True, timeout=SECONDS)
    opaque = [row["opaque"] > 0 for row in json.loads(r.stdout)["arguments"]]
    assert opaque == sorted(opaque) and any(opaque)  # what is known in full comes first


def test_it_is_not_on_by_default(tmp_path):
    run = [LEADLINE, "run", "--trace", "-o", tmp_path / "x.lead", "--python", sys.executable, CORPUS]
    r = subprocess.run(run, capture_output=True, text=True, check=True, timeout=SECONDS)
    assert "Arguments" not in r.stderr
    r = subprocess.run([LEADLINE, "report", "--args", tmp_path / "x.lead"], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert "no arguments were looked at: leadline run --args" in r.stdout


def test_with_a_budget_it_is_refused():
    r = subprocess.run([LEADLINE, "run", "--args", "--budget", "10%", "x.py"], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert r.returncode == 125 and "--args looks at every call" in r.stderr
