"""Threads that come and go, and many at once, in all the exact modes: every call and line of each is counted, or told to be missing."""

import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from interpreters import require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
NODES = LEADLINE.parent / "tests" / "nodes"
SECONDS = 300
LABELS = ("3.8", "3.11", "3.12", "3.13", "3.13t")  # each kind of hooks, and without the GIL
MODES = {"trace": "--trace", "timeline": "--trace=timeline", "count": "--count", "lines": "--lines=program.py"}


class Counted:
    """What a recording holds, as targets/nodes.c prints it."""

    def __init__(self, path, result):
        said = json.loads(subprocess.run([NODES, path], check=True, stdout=subprocess.PIPE, timeout=SECONDS).stdout)
        self.result, self.meta, self.losses, self.nodes = result, said["meta"], said["losses"], said["nodes"]
        self.lines = list({(c["tid"], c["code"], c["line"]): c for c in said["lines"]}.values())

    def calls(self):
        """{function: calls}, from contexts, or from lines where only those were counted."""
        sums = Counter()
        for node in self.nodes:
            sums[node["name"]] += node["calls"]
        for line in self.lines if not self.nodes else ():
            if not line["line"]:
                sums[line["name"]] += line["hits"]
        return sums

    def hits(self, name, line):
        """Of one line of a function, counted from its first."""
        return sum(c["hits"] for c in self.lines if c["name"] == name and c["line"] == c["first_line"] + line)

    def check_books(self):
        """What the agents counted is what the recording holds."""
        if "trace_counted" in self.meta:
            assert int(self.meta["trace_counted"]) == sum(n["calls"] + n["resumes"] for n in self.nodes)
        assert not [lost for lost in self.losses if "stacks found" not in str(lost)]
        assert "ncomplete" not in self.result.stderr


def count(label, source, mode, *arguments):
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder:
        os.chmod(folder, 0o755)
        program = Path(folder) / "program.py"
        program.write_text(source)
        path = f"{folder}/x.lead"
        result = subprocess.run(
            [LEADLINE, "run", mode, "-o", path, "--", *require(label).command(str(program), *map(str, arguments))],
            env={**os.environ, "TMPDIR": shared_folder(label)}, capture_output=True, text=True, timeout=SECONDS)
        assert result.returncode == 0, result.stderr
        return Counted(path, result)


# Threads one after the other, each with so many calling contexts that what all of them need does not fit the session's memory.
CHURN = """
import _thread, sys
N, FUNCTIONS = int(sys.argv[1]), 240
text = "".join("def f%d():\\n    x = 1\\n    return x\\n" % i for i in range(FUNCTIONS))
exec(compile(text, __file__, "exec"))
functions = [globals()["f%d" % i] for i in range(FUNCTIONS)]

def work(done):
    for f in functions:
        f()
    done.release()

def churn(n):
    done = _thread.allocate_lock()
    done.acquire()
    for i in range(n):
        _thread.start_new_thread(work, (done,))
        done.acquire()

churn(N)
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", LABELS)
def test_threads_that_come_and_go(label, mode):
    n = 7000
    counted = count(label, CHURN, MODES[mode], n)
    calls = counted.calls()
    assert calls["work"] == n
    assert {calls[f"f{i}"] for i in range(240)} == {n}
    if mode == "lines":
        assert counted.hits("work", 2) == 240 * n
    counted.check_books()
    # Figures by thread are of several, and that is told.
    if mode != "lines":
        told = re.search(r"(\d+) threads were traced", counted.result.stderr)
        assert int(told[1]) == n + 1
    if mode == "timeline":
        assert int(counted.meta["timeline_lost"]) == 0


# All of them alive at the same time, more than there are rings.
CROWD = """
import _thread, sys, threading, time
threading.stack_size(256 << 10)
N = int(sys.argv[1])
go, lock = threading.Event(), threading.Lock()
n_ready = n_done = 0

def leaf():
    return 1

def work():
    global n_ready, n_done
    leaf()
    with lock:
        n_ready += 1
    go.wait()
    leaf()
    late()
    with lock:
        n_done += 1

def late():
    return 2

for i in range(N):
    _thread.start_new_thread(work, ())
while n_ready < N:
    time.sleep(0.01)
go.set()
while n_done < N:
    time.sleep(0.01)
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", LABELS)
def test_more_threads_at_once_than_rings(label, mode):
    n = 1300
    counted = count(label, CROWD, MODES[mode], n)
    calls = counted.calls()
    assert (calls["work"], calls["leaf"], calls["late"]) == (n, 2 * n, n)
    counted.check_books()
    if mode == "timeline":
        assert int(counted.meta["timeline_lost"]) == 0


FORK = CHURN.replace("churn(N)\n", """
import os
churn(N)
pid = os.fork()
if pid == 0:
    churn(N)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
churn(N)
""")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", ["3.8", "3.11", "3.13"])
def test_fork_in_between(label, mode):
    n = 700
    counted = count(label, FORK, MODES[mode], n)
    calls = counted.calls()
    assert (calls["work"], calls["f0"], calls["f239"]) == (3 * n, 3 * n, 3 * n)
    counted.check_books()


# Threads that never end: the interpreter ends while they wait, or while they call.
DAEMONS = CHURN + """
import threading, time
ready = _thread.allocate_lock()
ready.acquire()

def waits():
    ready.release()
    threading.Event().wait()

def calls():
    ready.release()
    while True:
        f0()

for i in range(700):
    threading.Thread(target=waits, daemon=True).start()
    ready.acquire()
threading.Thread(target=calls, daemon=True).start()
ready.acquire()
"""


@pytest.mark.parametrize("label", LABELS)
def test_daemons_at_the_end(label):
    counted = count(label, DAEMONS, "--trace", 600)
    calls = counted.calls()
    assert (calls["work"], calls["waits"], calls["calls"], calls["f1"]) == (600, 700, 1, 600)
    counted.check_books()


# Threads whose first Python function begins when the process may have no more memory: there is none for us either.
NO_ROOM = """
import _thread, resource, threading, time
threading.stack_size(256 << 10)

def f(x):
    leaf()
    done.append(x)
    raise SystemExit

def leaf():
    return 1

_thread.start_new_thread(int, ())  # its end loads what glibc needs for ends of threads
done, locks = [], [_thread.allocate_lock() for i in range(20)]
for lock in locks:
    lock.acquire()
    _thread.start_new_thread(list, (map(f, iter(lock.acquire, None)),))
time.sleep(0.1)
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (1 << 20, before[1]))
for lock in locks:
    lock.release()
end = time.time() + 20
while len(done) < 20 and time.time() < end:
    time.sleep(0.01)
resource.setrlimit(resource.RLIMIT_AS, before)
print("all done")
"""


@pytest.mark.parametrize("label", ["3.8", "3.9", "3.10"])
def test_what_finds_no_room_is_told(label):
    """From 3.11 on a thread's first function needs memory of the interpreter's own as well."""
    counted = count(label, NO_ROOM, "--trace")
    assert counted.result.stdout == "all done\n"
    said = " ".join(counted.result.stderr.split())
    told = re.search(r"incomplete: there was no room to count (\d+) threads; (\d+) of their calls", said)
    # Each calls f, leaf and list.append.
    assert told and int(told[1]) == 20, said
    assert int(told[2]) + counted.calls()["f"] * 3 == 60
    assert "exact" not in said


# A pool that lives longer than a recording of lines: each has what was called while it was on.
POOL = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
import leadline

def f():
    x = 1
    return x

def g():
    return f()

def each_thread_calls(what, n):
    barrier = threading.Barrier(3)
    def one():
        barrier.wait()
        for i in range(n):
            what()
        barrier.wait()
    for done in [pool.submit(one) for _ in range(3)]:
        done.result()

pool = ThreadPoolExecutor(3)
each_thread_calls(f, 1)
for i, (what, n) in enumerate(((f, 5), (f, 7), (g, 2), (f, 4))):
    with leadline.lines(what) as counted:
        each_thread_calls(what, n)
        what()
    counted.save("%s/%d.lead" % (sys.argv[1], i))
"""


@pytest.mark.parametrize("label", LABELS)
def test_lines_again_in_a_pool_that_lives(label, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(POOL)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "LEADLINE_BINARY": str(LEADLINE)}
    result = subprocess.run(require(label).command(str(program), str(tmp_path)), env=env, capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 0, result.stderr
    seen = []
    for i in range(4):
        counted = Counted(tmp_path / f"{i}.lead", result)
        calls = counted.calls()
        seen.append((dict(calls), sorted(line["hits"] for line in counted.lines if not line["line"]), counted.hits("f", 1)))
    assert seen == [({"f": 16}, [1, 5, 5, 5], 16), ({"f": 22}, [1, 7, 7, 7], 22), ({"g": 7}, [1, 2, 2, 2], 0), ({"f": 13}, [1, 4, 4, 4], 13)]
