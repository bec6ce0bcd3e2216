"""Exact lines: what `run --lines` counts, on every interpreter, against a counter written in Python and the clock."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import line_profiler
import pytest
from interpreters import EXPECTED, inside, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
NODES = LEADLINE.parent / "tests" / "nodes"
TARGETS = ROOT / "tests" / "targets"
SECONDS = 60
OLD = ("3.8", "3.9", "3.10")  # code objects do not know their qualified names


class Lines:
    """The lines of a recording, as targets/nodes.c prints them: the last state of each."""

    def __init__(self, path, result):
        said = json.loads(subprocess.run([NODES, path], check=True, stdout=subprocess.PIPE, timeout=SECONDS).stdout)
        self.result, self.meta, self.losses, self.nodes = result, said["meta"], said["losses"], said["nodes"]
        self.all = {(c["tid"], c["code"], c["line"]): c for c in said["lines"]}

    def sums(self, key):
        """{(function, its first line, line): sum over the threads}; line 0 is the function."""
        sums = Counter()
        for c in self.all.values():
            sums[c["name"], c["first_line"], c["line"]] += c[key]
        return sums

    def hits(self):
        return {k: n for k, n in self.sums("hits").items() if k[2]}

    def of(self, name, line):
        """One line of a function, counted from its first; None: all of it."""
        found = [c for c in self.all.values() if c["name"].rpartition(".")[2] == name
                 and c["line"] == (0 if line is None else c["first_line"] + line)]
        assert len(found) == 1, (name, line, self.result.stderr)
        return found[0]


def run(label, what, *files, arguments=(), options=(), script=None, check=True):
    """Counts lines of a program, whose files come along, with that interpreter; without files its text is `script`."""
    shared = shared_folder(label)
    with tempfile.TemporaryDirectory(dir=shared) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        program = Path(folder) / (files[0].name if files else "program.py")
        for file in files:
            shutil.copy(file, folder)
        if script:
            program.write_text(script)
        r = subprocess.run(
            [LEADLINE, "run", f"--lines={what}", "-o", f"{own}/x.lead", *options, "--",
             *require(label).command(str(program), *arguments)],
            env={**os.environ, "TMPDIR": shared}, capture_output=True, text=True, timeout=SECONDS)
        if check:
            assert r.returncode == 0, r.stderr
        lines = Lines(f"{own}/x.lead", r)
        lines.script = str(program)
        oracle = Path(folder) / "line_oracle.py"
        if oracle.exists():
            r = subprocess.run(require(label).command(str(oracle), str(program)), capture_output=True, text=True, timeout=SECONDS)
            lines.oracle = {tuple(key): n for *key, n in json.loads(r.stderr.splitlines()[-1])}
        return lines


@pytest.mark.parametrize("label", ["3.8", "3.11", "3.13"])
def test_patterns_that_mean_the_same_function_have_all_found_it(label):
    """Also one that the program decorates; what is at fault is told without functions of ours among the traced ones."""
    script = "@profile\ndef work(): return 1\nwork()\n"
    lines = run(label, "program.py:work,work,program.py,wrok", script=script, options=("--trace",))
    assert [line for line in lines.result.stderr.splitlines() if line.startswith("Tracing:")] == [
        "Tracing: --lines=wrok: no function that matches was called; near names: work"]
    assert {n["name"] for n in lines.nodes if n["name"] and "<" not in n["name"]} == {"work", "profile", "_codes"}


@pytest.mark.parametrize("what, said", [
    ("", "No lines were counted: no function decorated with @profile was called"),
    ("nobody", "No lines were counted: no function that --lines names was called"),
])
def test_nothing_chosen(what, said, tmp_path):
    """There is no table, and the reason has to do with lines."""
    result = subprocess.run([LEADLINE, "run", "-o", tmp_path / "x.lead", f"--lines={what}", "--", require("3.13").exe, "-c", "print(1)"],
                            capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 0 and said in result.stderr and "No Python stacks" not in result.stderr


@pytest.mark.parametrize("options", [(), ("--trace",)], ids=["lines", "with calls"])
@pytest.mark.parametrize("label", EXPECTED)
def test_hits_are_those_of_a_counter_in_python(label, options):
    """Recursion, generators, coroutines in turn, exceptions, comprehensions, loops, withs, threads, exec …"""
    lines = run(label, "line_corpus.py", TARGETS / "line_corpus.py", TARGETS / "line_oracle.py", options=options)
    assert lines.hits() == lines.oracle
    assert len(lines.oracle) > 150 and lines.losses == []
    calls = {name.rpartition(".")[2]: n for (name, _, line), n in lines.sums("hits").items() if line == 0}
    assert (calls["fib"], calls["count_to"], calls["worker"], calls["body"]) == (109, 4, 3, 8)


RECURSIVE = """
import time

def wait(s):
    end = time.perf_counter() + s
    while time.perf_counter() < end:
        pass

def down(n):
    wait(0.02)
    if n:
        down(n - 1)
    wait(0.01)

down(4)
"""


@pytest.mark.beside
@pytest.mark.parametrize("label", EXPECTED)
def test_recursive_lines_have_their_time(draw, label):
    """Five activations: 0.02 s before and 0.01 s after each call of the next. The call's line is open all the while."""
    lines = run(label, "down", script=RECURSIVE)
    before, call, after = (lines.of("down", n) for n in (1, 3, 4))
    assert (before["hits"], call["hits"], after["hits"]) == (5, 4, 5)
    draw.median("before, ns", before["own_ns"], low=0.1e9)
    draw.median("after, ns", after["own_ns"], low=0.05e9)
    # What is below the outermost call: four activations, none twice; of its own it has next to nothing.
    whole = lines.of("down", None)
    assert whole["hits"] == 5
    draw.median("call, ns", call["total_ns"], low=0.12e9)
    draw.median("whole without call, ns", whole["total_ns"] - call["total_ns"], low=0.03e9)
    draw.share("call's own", call["own_ns"], call["total_ns"], high=0.3)
    draw.median("whole, ns", whole["total_ns"], low=0.15e9)
    draw.share("lines of the whole", before["own_ns"] + after["own_ns"] + call["own_ns"], whole["total_ns"])


COROUTINES = """
import asyncio, time

def wait(s):
    end = time.perf_counter() + s
    while time.perf_counter() < end:
        pass

async def turn(first, second):
    x = wait(first) or await asyncio.sleep(0) or wait(second)
    await asyncio.sleep(0.05)
    return x

async def main():
    await asyncio.gather(turn(0.01, 0.03), turn(0.02, 0.04))

asyncio.run(main())
"""


@pytest.mark.beside
@pytest.mark.parametrize("label", EXPECTED)
def test_coroutines_in_turn_have_their_time(draw, label):
    """Both stand on one line, before and after an await in its middle: 0.1 s in all. Sleeping is nobody's time."""
    lines = run(label, "turn", script=COROUTINES)
    busy, asleep = lines.of("turn", 1), lines.of("turn", 2)
    assert busy["hits"] == (4 if label == "3.12" else 2)  # 3.12 begins the line anew after the await
    assert asleep["hits"] == 2
    draw.median("busy, ns", busy["own_ns"], low=0.1e9)
    draw.median("asleep, ns", asleep["total_ns"], high=0.02e9)


@pytest.mark.parametrize("script, function, line, least_s", [(RECURSIVE, "def down", 3, 0.12), (COROUTINES, "async def turn", 1, 0.1)])
def test_where_line_profiler_is_wrong(draw, tmp_path, script, function, line, least_s):
    """It keeps one open line per function: a recursive call ends its caller's, an await ends it for good. The program waits by
    the clock, so the time the line has at least is known."""
    marked = tmp_path / "program.py"
    marked.write_text(script.replace(function, f"@profile\n{function}"))
    subprocess.run([sys.executable, "-m", "kernprof", "-l", "-o", "theirs.lprof", marked], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([LEADLINE, "run", "--lines=", "-o", "ours.lead", "--", sys.executable, marked], cwd=tmp_path, check=True, capture_output=True)
    stats = line_profiler.load_stats(str(tmp_path / "theirs.lprof"))
    ((_, first, _), timings), = stats.timings.items()
    ours = Lines(tmp_path / "ours.lead", None)
    theirs = {at - first: ticks * stats.unit for at, _, ticks in timings}[line + 1]
    draw.hold("theirs, s", min(draw.add("theirs", theirs)), high=0.85 * least_s)  # a busy machine only adds to it
    draw.median("ours, s", ours.of(function.split()[-1], line + 1)["total_ns"] / 1e9, low=least_s)


NAMES = """
class Model:
    def step(self):
        return 1

    @staticmethod
    def make():
        return Model()

    @property
    def size(self):
        return 2

def step():
    def inner():
        return 3
    return inner()

def never():
    pass

Model.make().step()
Model().size
step()
"""


@pytest.mark.parametrize("what, chosen", [
    ("step", {"Model.step", "step"}),
    ("Model.step", {"Model.step"}),
    ("Model.*", {"Model.step", "Model.make", "Model.size"}),
    ("program:Model.make", {"Model.make"}),
    ("__main__:step", {"Model.step", "step"}),
    ("program.py:Model.size,Model.step", {"Model.size", "Model.step"}),
    ("step.inner", {"step.<locals>.inner"}),
])
@pytest.mark.parametrize("label", ["3.10", "3.11", "3.13"])
def test_functions_by_name(label, what, chosen):
    lines = run(label, what, script=NAMES)
    if label in OLD:  # functions inside functions have no qualified names there
        chosen = {name.rpartition(".")[2] for name in chosen if "<locals>" not in name}
    assert {c["name"] for c in lines.all.values()} == chosen
    if what == "Model.step":
        assert sum(lines.hits().values()) == 1  # not the function of the same name


@pytest.mark.parametrize("label", ["3.8", "3.11", "3.14"])
def test_what_is_not_found_is_told(label):
    lines = run(label, "stap,never,Model.step", script=NAMES)
    told = " ".join(lines.result.stderr.split())
    assert "--lines=stap: no function that matches was called; near names: " in told
    assert "--lines=never: no function that matches was called; __main__:never was never called" in told
    assert "--lines=Model.step" not in told


MARKED = """
import os, sys

@profile
def marked(n):
    for i in range(n):
        pass

class A:
    @profile
    @staticmethod
    def plain():
        return 1

    @property
    @profile
    def value(self):
        return 2

def other():
    return 3

marked(3), A.plain(), A().value, other()
pid = os.fork()
if not pid:
    marked(2)
    os._exit(0)
os.waitpid(pid, 0)
print(sys.gettrace(), sys.getprofile())
sys.exit(7)
"""


@pytest.mark.parametrize("label", EXPECTED)
def test_functions_marked_by_the_program(label):
    """Those of a forked child too; nothing else of the program changes."""
    lines = run(label, "", script=MARKED, check=False)
    assert lines.result.returncode == 7
    assert lines.result.stdout == "None None\n"
    assert {c["name"].rpartition(".")[2] for c in lines.all.values()} == {"marked", "plain", "value"}
    hits = {line: n for (name, first, line), n in lines.sums("hits").items() if name == "marked"}
    assert sorted(hits.values()) == [2, 5, 7]  # calls, passes, passes and ends


def test_kernprofs_habits(tmp_path):
    script = tmp_path / "work.py"
    script.write_text("@profile\ndef work(n):\n    for i in range(n):\n        n += i\n    return n\n\nprint(work(9))\n")
    exe = require("3.12").command()[0]
    r = subprocess.run([LEADLINE, "lines", "-l", "-v", "-z", "-u", "1e-3", "--python", exe, "work.py"], cwd=tmp_path,
                       capture_output=True, text=True, timeout=SECONDS)
    assert r.returncode == 0, r.stderr
    out = r.stdout.splitlines()
    assert out[0] == "45" and out[1] == "Timer unit: 0.001 s"
    assert "Function: work at line 1" in out
    assert [line.split()[:2] for line in out if line.strip().startswith(("3 ", "4 ", "5 "))] == [["3", "10"], ["4", "9"], ["5", "1"]]
    lprof = subprocess.run([LEADLINE, "report", "--line-profiler", "work.py.lprof"], cwd=tmp_path, capture_output=True, text=True)
    assert "     4         9 " in lprof.stdout, lprof.stderr
    r = subprocess.run([LEADLINE, "lines", "-i", "5", "work.py"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert r.returncode == 125 and "-i is kernprof's only" in r.stderr


def test_a_debuggers_trace_function_stays(tmp_path):
    """Up to 3.11 a thread has one trace function: the program's own counts, and ours is silent there."""
    script = """
import sys
seen = []

def trace(frame, event, arg):
    seen.append(event)
    return trace

def work():
    a = 1
    return a

work()
sys.settrace(trace)
work()
sys.settrace(None)
print(seen)
"""
    lines = run("3.11", "work", script=script)
    assert lines.result.stdout == "['call', 'line', 'line', 'return']\n"
    assert lines.of("work", 1)["hits"] >= 1
    assert run("3.13", "work", script=script).of("work", 1)["hits"] == 2


AUTO = """
import os, sys, time

def profile_of(n):
    return n

class Model:
    def hot(self, n):
        total = 0
        for i in range(n):
            total += i * i
            total ^= i
        return total

def cold():
    return 1

def is_chosen():
    return os.path.exists(os.environ["LEADLINE_SESSION"] + "/chosen")

def main():
    model, end = Model(), time.monotonic() + 40
    while time.monotonic() < end and not is_chosen():
        model.hot(200000)
        cold()
    end = time.monotonic() + 2
    while time.monotonic() < end:
        model.hot(1000)

main()
"""


@pytest.mark.parametrize("label", ("3.8", "3.11", "3.13", "3.13t", "3.15"))
def test_auto(label):
    """The hottest function is found by sampling, and its lines are counted from then on."""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        script = Path(folder) / "program.py"
        script.write_text(AUTO)
        r = subprocess.run([LEADLINE, "run", "--lines=auto", "-o", f"{own}/x.lead", "--", *require(label).command(str(script))],
                           env={**os.environ, "TMPDIR": shared_folder(label)}, capture_output=True, text=True, timeout=SECONDS)
        lines = Lines(f"{own}/x.lead", r)
    assert r.returncode == 0, r.stderr
    said = next(line for line in r.stderr.splitlines() if line.startswith("Hot after"))
    assert "hot" in said and "cold" not in said and "_wait" not in said
    hits = {line: n for (name, _, line), n in lines.sums("hits").items() if name.endswith("hot")}
    source = AUTO.splitlines()
    assert hits[source.index("            total ^= i") + 1] >= 7000
    assert hits[source.index("        return total") + 1] >= 7


def test_auto_ends_too_early(tmp_path):
    r = subprocess.run([LEADLINE, "run", "--lines=auto", "-o", tmp_path / "x.lead", "--", require("3.13").exe, "-c", "pass"],
                       capture_output=True, text=True, timeout=SECONDS)
    assert r.returncode == 0 and "The program ended before sampling found" in r.stderr


CALLEES = TARGETS / "line_callees.py"


def lines_of(label, *options):
    """{words behind # in the source: line} of the function work"""
    marks = {text.rsplit("# ", 1)[1]: number for number, text in enumerate(CALLEES.read_text().splitlines(), 1) if "  # " in text}
    with inside(label, CALLEES) as script, tempfile.TemporaryDirectory() as own:
        r = subprocess.run([LEADLINE, "run", *options, "-o", f"{own}/x.lead", f"--json={own}/x.json", "--", *require(label).command(str(script))],
                           env={**os.environ, "TMPDIR": shared_folder(label)}, capture_output=True, text=True, timeout=100)
        assert r.returncode == 0, r.stderr
        rows = {row["line"]: row for row in json.loads(Path(own, "x.json").read_text())["lines"]}
    return {mark: rows[number] for mark, number in marks.items()}


@pytest.mark.parametrize("label", EXPECTED)
def test_with_calls_traced_all_callees_are_told_apart(label):
    """Functions whose lines nobody counts, and C functions; without --trace they are not watched, and their time is the line's."""
    rows = lines_of(label, "--trace", "--lines=work")
    for row in rows.values():
        assert row["self"] + row["callees"] == pytest.approx(row["total"], abs=1e-6)
    for mark in ("python", "builtin", "recursive", "generator"):
        assert rows[mark]["callees"] > rows[mark]["self"], (mark, rows[mark])
    assert rows["python"]["callees"] > 0.029 and rows["recursive"]["callees"] > 0.029 and rows["generator"]["callees"] > 0.014
    assert rows["own"]["self"] > 0 and rows["own"]["callees"] < 0.1 * rows["own"]["self"]


def test_lines_alone_watch_no_callees():
    for row in lines_of("3.13", "--lines=work").values():
        assert row["callees"] == 0 and row["self"] == row["total"]
