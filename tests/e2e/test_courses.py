"""What courses and guides teach first, tried as a learner would: the commands as typed, and what must be read off the screen."""
import json
import re
import subprocess

import conftest
import pytest
from interpreters import require

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

EXAMPLES = conftest.ROOT / "examples"
GUIDE = conftest.ROOT / "docs" / "guide" / "right-now.md"


def lead(tool, *args, **kwargs):
    r = tool(*args, cwd=tool.tmp, **kwargs)
    assert r.returncode == 0, r.stderr
    return r


def functions(tool, record, *args):
    return json.loads(lead(tool, "report", record, "--json", *args).stdout)["functions"]


@pytest.fixture
def python():
    return require("3.12").exe


# ---- where: the order of a profile, top down ------------------------------------------------------------------


def test_which_function_took_longest_and_when_self_and_total_differ(draw, tool, python):
    """A leaf has both alike; a function that only calls has all of the one and none of the other."""
    lead(tool, "run", "--python", python, "-o", "net.lead", EXAMPLES / "two_layer_net_pure.py", "0.3")
    first, *_ = functions(tool, "net.lead")
    draw.verdict("first function", first["name"], "matmul")
    draw.share("its own time", first["self"], first["total"], low=0.95)
    (main,) = [f for f in functions(tool, "net.lead", "--sort", "cumtime", "--limit", "0") if f["name"] == "main" and f["file"] == first["file"]]
    draw.share("first of main", first["total"], main["total"], high=1 / 0.9)
    draw.share("main's own", main["self"], main["total"], high=0.1)
    text = lead(tool, "report", "net.lead", "--sort", "cumulative").stdout
    assert text.index("main") < text.index("matmul"), "pstats' word for the order"
    assert "self: time in the function's own code; total: including what it calls" in text


def test_from_the_program_to_the_function_to_the_line(tool, python):
    lead(tool, "run", "--python", python, "-o", "loop.lead", EXAMPLES / "numeric_loop.py", "0.3")
    report = json.loads(lead(tool, "report", "loop.lead", "--json").stdout)
    assert report["bound"]["verdict"] == "cpu"
    hot = report["functions"][0]
    line = next(x for x in report["lines"] if x["function"] == hot["name"])
    source = (EXAMPLES / "numeric_loop.py").read_text().splitlines()[line["line"] - 1]
    shown = lead(tool, "report", "loop.lead", "--lines").stdout
    assert source.strip()[:20] in shown
    assert hot["name"] in lead(tool, "report", "loop.lead", "--tree").stdout
    assert "(its own code)" in lead(tool, "report", "loop.lead", "--callees", hot["name"]).stdout


def test_recursion_is_counted_once_per_stack(tool, python):
    lead(tool, "run", "--python", python, "-o", "fib.lead", EXAMPLES / "recursive.py", "0.3")
    report = json.loads(lead(tool, "report", "fib.lead", "--json").stdout)
    assert all(f["total"] <= report["total"] * 1.001 for f in report["functions"])
    assert "calls itself" in lead(tool, "report", "fib.lead", "--tree").stdout


def test_code_of_ones_own_carries_what_it_called(tool, python):
    """regex_compile: all the time is in the library; the line to change is the one that calls it."""
    lead(tool, "run", "--python", python, "-o", "re.lead", EXAMPLES / "regex_compile.py", "0.2")
    assert functions(tool, "re.lead")[0]["file"] != str(EXAMPLES / "regex_compile.py")
    mine = functions(tool, "re.lead", "--only-mine")
    assert {f["file"] for f in mine if not f["name"].startswith("[")} == {str(EXAMPLES / "regex_compile.py")}


# ---- why: time, user and system -------------------------------------------------------------------------------


def test_the_formula_with_the_numbers_filled_in(draw, tool, python):
    r = lead(tool, "time", python, EXAMPLES / "numeric_loop.py", "0.2")
    assert re.search(r"[\d.]+ m?s of user time in [\d.]+ m?s( \([^)]*threads[^)]*\))?: \d+ %", r.stderr)
    draw.verdict("CPU-bound", "CPU-bound" in r.stderr, True)
    result = tool.time_json(python, "-c", "import time; time.sleep(0.5)")
    draw.verdict("bound", result["bound"]["verdict"], "waiting")
    assert result["max_rss_bytes"] > 1_000_000


# ---- py-spy's habits ------------------------------------------------------------------------------------------


def test_py_spys_words_for_a_running_program(tool, python):
    program = "def f():\n    while True: sum(range(1000))\nprint('ready', flush=True)\nf()\n"
    with conftest.running(python, "-c", program) as p:
        lead(tool, "attach", "-r", "200", "-d", "1", "--subprocesses", "-f", "raw", "-o", "out.txt", "--pid", p.pid)
        assert "Thread" in lead(tool, "dump", "--pid", p.pid).stdout
    frames = [line.rpartition(" ")[0].split(";")[-1] for line in (tool.tmp / "out.txt").read_text().splitlines()]
    assert any(f.startswith("f (") for f in frames)


# ---- the GIL --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["3.13", "3.13t"])
def test_threads_with_and_without_the_gil(tool, label):
    """With it one thread at a time holds it; without it nobody does, and the threads of one run work at the same time."""
    lead(tool, "run", "--python", require(label).exe, "-o", "th.lead", EXAMPLES / "threads_gil.py", "0.5")
    threads = json.loads(lead(tool, "report", "th.lead", "--threads", "--json").stdout)["threads"]
    workers = [t for t in threads if (t["name"] or "").startswith("primes-")]
    assert len(workers) >= 3
    if label.endswith("t"):
        assert sum(t["gil_s"] or 0 for t in workers) == 0
    else:
        assert 0.5 < sum(t["gil_s"] for t in workers) / sum(t["on_cpu_s"] for t in workers)


# ---- the guide ------------------------------------------------------------------------------------------------


def test_the_guides_dump_is_what_is_printed(tool):
    """Functions, places and sources of the page, on the interpreter it names; the moment is chosen until it is the page's."""
    block = GUIDE.read_text().split("```")[1]
    version = re.search(r"CPython (3\.\d+)", block)[1]
    wanted = [(m[1], m[2]) for m in re.finditer(r"^  (\S+)  \S+/slow_loader\.py:(\d+)", block, re.MULTILINE)]
    assert len(wanted) >= 5
    p = subprocess.Popen([require(version).exe, EXAMPLES / "slow_loader.py", "50"], stdout=subprocess.DEVNULL)
    try:
        def is_there():
            text = tool("dump", p.pid).stdout
            return wanted == [(m[1], m[2]) for m in re.finditer(r"^  (\S+)  \S+/slow_loader\.py:(\d+)", text, re.MULTILINE)]
        conftest.wait_until(is_there, "the moment of the guide")
    finally:
        p.kill()
        p.wait()
