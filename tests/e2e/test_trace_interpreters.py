"""Programs that make interpreters beside their first one: that one is traced to the end, and those that are not are counted."""

import os
import re
import subprocess

import pytest
from interpreters import require
from test_trace import ROOT, LEADLINE, SECONDS, trace

# Legacy ones share the GIL and take any module; isolated ones have their own and take the agent in no more.
PROGRAM = """
import sys, threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def leaf():
    return 1

def phase():
    for i in range(100):
        leaf()

def create():
    if sys.version_info < (3, 12):
        return interpreters.create()
    if sys.version_info < (3, 13):
        return interpreters.create(isolated=how == "isolated")
    return interpreters.create(how)

how = sys.argv[1]
phase()
for i in range(3):
    made = create()
    interpreters.run_string(made, "def inside():\\n    return 1\\nfor i in range(50): inside()")
    phase()
    interpreters.destroy(made)
phase()
thread = threading.Thread(target=phase)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("mode", ["--trace", "--count", "--trace=timeline"])
@pytest.mark.parametrize("how", ["legacy", "isolated"])
@pytest.mark.parametrize("label", ["3.12", "3.13", "3.14"])
def test_the_first_one_is_traced_and_the_others_are_told(label, how, mode):
    t = trace(label, PROGRAM, *(() if mode == "--trace" else (mode,)), arguments=(how,))
    assert (t.calls("phase"), t.calls("leaf"), t.calls("inside")) == (6, 600, 0)
    said = " ".join(t.result.stderr.split())
    assert "3 sub-interpreters of 1 process were not traced" in said
    assert "calls are not traced" not in said
    assert int(t.meta["trace_counted"]) == sum(n["calls"] + n["resumes"] for n in t.nodes)


@pytest.mark.parametrize("label", ["3.8", "3.11"])
def test_before_312_all_are_traced(label):
    t = trace(label, PROGRAM, arguments=("legacy",))
    assert (t.calls("phase"), t.calls("leaf"), t.calls("inside")) == (6, 600, 150)
    assert "not traced" not in t.result.stderr


@pytest.mark.parametrize("how", ["legacy", "isolated"])
@pytest.mark.parametrize("label", ["3.12", "3.13"])
def test_lines_of_the_first_one(label, how, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    result = subprocess.run([LEADLINE, "run", "--lines=leaf", "-o", f"{tmp_path}/x.lead", "--", *require(label).command(str(script), how)],
                            capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^ *9 +600 ", result.stderr, re.MULTILINE), result.stderr
    assert "3 sub-interpreters of 1 process were not traced" in " ".join(result.stderr.split())


# The package, asked for in an interpreter that shares the agent: it says no, and the first one goes on.
INSIDE = PROGRAM.replace("import sys, threading", "import sys, threading, leadline\ntracer = leadline.Tracer()\ntracer.enable()").replace(
    "def inside():", "import leadline\\ntry:\\n    leadline.Tracer().enable()\\nexcept leadline.Error: pass\\ndef inside():") + """
tracer.disable()
calls = {f[2]: row[1] for f, row in tracer.stats.stats.items()}
print(calls["phase"], calls["leaf"])
"""


@pytest.mark.parametrize("label", ["3.12", "3.13"])
def test_the_package_inside_one_leaves_the_first_alone(label, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(INSIDE)
    result = subprocess.run(require(label).command(str(script), "legacy"), capture_output=True, text=True, timeout=SECONDS,
                            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "LEADLINE_BINARY": str(LEADLINE)})
    assert (result.returncode, result.stdout) == (0, "6 600\n"), result.stderr
