"""The sampler where threads and processes come and go, held against the clocks of the programs themselves (tests/edges).

A function's CPU and wall time lie within their intervals, and the books of the recording balance: see tests/e2e/edges.py for the bars.
What may be missing there is a few hundredths, which a machine that does other things does not keep to: here it is TIMES as much, and
benchmarks/edges.py measures the bars themselves, on every version, in every way, quiet and beside a load.
"""
import json
import os
import pathlib
import subprocess
import sys

import edges
import pytest
from conftest import running, wait_until
from interpreters import EXPECTED, inside, require
from users import needs_root

# Every kind of thread list and of frame that the sampler knows.
EACH_KIND = ("3.8", "3.11", "3.13", "3.13t", "3.14")
# What tells most about how threads are found and lost, on every version.
TELLING = ("short_threads", "c_calls", "ending")
# Not true enough yet, as the benchmark shows: of the CPU time that 700 threads need to begin and to end a fifth to a quarter is in no row.
NOT_YET = [("many_idle", "3.8"), ("many_idle", "3.13")]
CELLS = [(name, label) for name in edges.EDGES for label in EXPECTED
         if (label in EACH_KIND and name in TELLING or label in ("3.8", "3.13")) and (name, label) not in NOT_YET]
TIMES = 8


def hold(draw, run):
    """Every cell and bar of a run, as measured values: those of all draws count together."""
    for cell in edges.cells(run, TIMES):
        draw.share(cell.what, cell.shown, cell.true, low=1 - (cell.high - cell.shown + cell.tolerance) / cell.true,
                   high=1 + (cell.shown - cell.low + cell.tolerance) / cell.true)
    assert all(t["tid"] > 0 for t in run.wall["threads"]), "a thread that never was"
    assert edges.books(run.wall) is not None, "the report has no books"
    for bar in edges.bars(run, TIMES):
        draw.median(bar.what, bar.distance, high=0)


def record(tool, label, name, way="root"):
    require(label)
    return edges.record(tool.binary, label, edges.EDGES[name], way)


@pytest.mark.parametrize("name, label", CELLS)
def test_an_edge_has_its_true_time(draw, tool, name, label):
    hold(draw, record(tool, label, name))


# Attached to, nobody waits for the children: what they used last is not known. In a namespace a child that ends soon may be found too late.
WAYS = [(way, name) for way in ("user", "namespace", "attach") for name in ("short_threads", "c_calls", "spawned", "ending")
        if (way, name) not in (("attach", "spawned"), ("namespace", "ending"))]


@needs_root
@pytest.mark.parametrize("way, name", WAYS)
def test_another_way(draw, tool, way, name):
    """As an ordinary user; where no connector tells of processes; attached to."""
    hold(draw, record(tool, "3.13", name, way))


@pytest.mark.parametrize("way", ["root", pytest.param("namespace", marks=needs_root)])
def test_the_limit_of_descriptors_is_the_programs_own(tool, way):
    """The tool may raise its own, never that of what it starts; and who has none left must not take the program for gone."""
    run = record(tool, "3.13", "many_idle", way)
    assert run.truth["descriptors"] == run.edge.descriptors
    assert run.truth["threads"] > 700


TURNS = """
import os, subprocess, sys, time
def nice(pid): return int(open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[16])
def slice_ns(pid): return int(next(l.split(":")[1] for l in open("/proc/%d/sched" % pid) if l.startswith("se.slice")))
deadline = time.monotonic() + 20
while str(nice(os.getppid())) == sys.argv[1] and time.monotonic() < deadline: pass  # it is raised after we were started
told = [nice(os.getppid()), nice(os.getpid()), int(subprocess.check_output(["nice"]))]
try:
    told += [slice_ns(os.getppid()), slice_ns(os.getpid())]
except (OSError, StopIteration):
    pass  # a kernel that tells nothing of it
print(told)
"""


@needs_root
@pytest.mark.parametrize("before, raised", [(0, -10), (5, 5), (-3, -10)])
def test_who_looks_goes_first_and_nobody_else(tool, tmp_path, before, raised):
    """On a busy machine; what it starts runs as it would without it, and who told it to be modest is heeded."""
    done = subprocess.run([tool.binary, "run", "--report=/dev/null", "-o", tmp_path / "a.lead", sys.executable, "-c", TURNS,
                           str(before) if raised != before else "none"], capture_output=True, text=True,
                          preexec_fn=lambda: os.setpriority(os.PRIO_PROCESS, 0, before))
    told = json.loads(done.stdout)
    assert told[:3] == [raised, before, before], done.stderr
    assert raised == before or not told[3:] or told[3] < told[4]


FILES = """
import collections, os, threading, time
stop = threading.Event()
for _ in range(20): threading.Thread(target=stop.wait, daemon=True).start()
tool, found = "/proc/%d/fd" % os.getppid(), {}
def links():
    for fd in os.listdir(tool):
        try: yield os.readlink(tool + "/" + fd)
        except OSError: pass
deadline = time.monotonic() + 20
while len(found) < 21 and time.monotonic() < deadline:
    time.sleep(0.1)  # of the host's looks
    found = collections.Counter(l for l in links() if l.endswith("/schedstat"))
time.sleep(0.3)
print(len(found), max(collections.Counter(l for l in links() if l.endswith("/schedstat")).values()))
"""


def test_one_descriptor_tells_host_and_sampler_of_a_thread(tool, tmp_path):
    done = tool("run", "-o", tmp_path / "a.lead", sys.executable, "-c", FILES)
    assert done.stdout.split() == ["21", "1"], done.stdout + done.stderr


@pytest.mark.parametrize("at", ["atexit", "teardown"])
@pytest.mark.parametrize("label", EXPECTED)
def test_dump_tells_that_an_interpreter_is_ending(tool, label, at):
    """It runs no line of Python any more, and is a known build as it was before."""
    with inside(label, edges.PROGRAMS / "held_at_end.py") as path, running(*require(label).command(str(path), at)) as p:
        status = pathlib.Path(f"/proc/{p.pid}/stat")
        wait_until(lambda: status.read_text().rpartition(")")[2].split()[0] == "S", "the end's standstill")
        done = tool("dump", p.pid)
    said = done.stdout + done.stderr
    assert "unknown interpreter build" not in said
    # What atexit calls comes before the interpreter says of itself that it ends.
    assert ("its interpreter is ending" if at == "teardown" else "none of its threads runs Python code") in said, said
