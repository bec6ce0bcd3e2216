"""coverage beside leadline: both see what they see alone, or one line says why not."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from consumers import module
from interpreters import require

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
SECONDS = 100
PROGRAM = """
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def never():
    return 1


fib(10)
"""
CALLS = {"fib": 177}
HITS = {3: 177, 4: 89, 5: 88}
CORES = [("3.11", "ctrace"), ("3.13", "ctrace"), ("3.13", "sysmon")]


class Beside:
    def __init__(self, label, core, folder):
        self.python, self.folder, self.program = require(label).exe, folder, folder / "program.py"
        self.program.write_text(PROGRAM)
        self.env = {**os.environ, "PYTHONPATH": str(module(label, "coverage")), "COVERAGE_CORE": core, "COVERAGE_FILE": str(folder / "data")}

    def run(self, command, status=0):
        r = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False, timeout=SECONDS)
        assert r.returncode == status, r.stderr
        return r

    def leadline(self, *options):
        """(calls, hits, what was told)"""
        r = self.run([LEADLINE, "run", *options, "--force", "-o", "x.lead", "--json=x.json", "--python", self.python, "-m", "coverage", "run", self.program])
        said = json.loads((self.folder / "x.json").read_text())
        calls = {f["name"]: f["calls"] for f in said.get("functions", []) if f["file"] == str(self.program) and f["name"] in CALLS}
        hits = {row["line"]: row["hits"] for row in said.get("lines", []) if row["file"] == str(self.program) and row["line"] in HITS}
        return calls, hits, r.stderr

    def missing(self):
        """Lines coverage says did not run."""
        self.run([self.python, "-m", "coverage", "json", "-q", "-o", "c.json"])
        return next(iter(json.loads((self.folder / "c.json").read_text())["files"].values()))["missing_lines"]


@pytest.mark.parametrize(("label", "core"), CORES[::2])
def test_calls_and_coverage(label, core, tmp_path):
    both = Beside(label, core, tmp_path)
    calls, _, _ = both.leadline("--trace")
    assert calls == CALLS and both.missing() == [9]


@pytest.mark.parametrize(("label", "core"), CORES)
def test_lines_and_coverage(label, core, tmp_path):
    """Up to 3.11 a thread has one trace function, and the program's wins."""
    both = Beside(label, core, tmp_path)
    for options in (["--lines=fib"], ["--trace", "--lines=fib"]):
        calls, hits, told = both.leadline(*options)
        (tmp_path / "x.lead").unlink()
        assert both.missing() == [9]
        if "--trace" in options:
            assert calls == CALLS
        if label == "3.11":
            assert hits == {} and told.count("has set a trace function of its own (sys.settrace: coverage, debuggers)") == 1
        else:
            assert hits == HITS and "trace function" not in told


@pytest.mark.parametrize(("label", "core"), CORES[::2])
def test_coverage_first(label, core, tmp_path):
    """A program that coverage runs starts leadline."""
    both = Beside(label, core, tmp_path)
    starter = tmp_path / "starter.py"
    starter.write_text(f"import subprocess, sys\nsys.exit(subprocess.call([{str(LEADLINE)!r}, 'run', '--trace', '-o', 'x.lead', '--json=x.json', "
                       f"'--python', sys.executable, '-m', 'coverage', 'run', '-p', {str(both.program)!r}]))\n")
    both.run([both.python, "-m", "coverage", "run", "-p", starter])
    said = json.loads((tmp_path / "x.json").read_text())
    assert {f["name"]: f["calls"] for f in said["functions"] if f["file"] == str(both.program) and f["name"] in CALLS} == CALLS
    both.run([both.python, "-m", "coverage", "combine", "-q"])
    both.run([both.python, "-m", "coverage", "json", "-q", "-o", "c.json"])
    files = json.loads((tmp_path / "c.json").read_text())["files"]
    assert {Path(name).name: f["missing_lines"] for name, f in files.items()} == {"program.py": [9], "starter.py": []}
