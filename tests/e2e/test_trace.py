"""Exact calls: what `run --trace` records, on every interpreter, against what the program itself knows."""

import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from interpreters import EXPECTED, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
NODES = LEADLINE.parent / "tests" / "nodes"
TARGETS = ROOT / "tests" / "targets" / "trace"
SECONDS = 300
BEFORE_QUALNAMES = ("3.8", "3.9", "3.10")
BEFORE_MONITORING = (*BEFORE_QUALNAMES, "3.11")


class Trace:
    """A recording as targets/nodes.c prints it."""

    def __init__(self, path, result):
        said = json.loads(subprocess.run([NODES, path], check=True, stdout=subprocess.PIPE, timeout=SECONDS).stdout)
        self.result = result
        self.nodes, self.meta, self.losses = said["nodes"], said["meta"], said["losses"]
        self.by_id = {node["id"]: node for node in self.nodes}

    def calls(self, name):
        return sum(node["calls"] for node in self.nodes if node["name"] == name)

    def resumes(self, name):
        return sum(node["resumes"] for node in self.nodes if node["name"] == name)


@contextlib.contextmanager
def placed(label, source):
    """A script where the interpreter finds it: a file of TARGETS with its like beside it, or a text."""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder:
        os.chmod(folder, 0o755)
        if isinstance(source, Path):
            for file in TARGETS.glob("*.py"):
                shutil.copy(file, folder)
            yield Path(folder) / source.name
        else:
            script = Path(folder) / "program.py"
            script.write_text(source)
            yield script


def trace_at(label, script, *options, arguments=(), check=True, env=()):
    """Runs a script under --trace with that interpreter."""
    with tempfile.TemporaryDirectory() as own:
        result = subprocess.run(
            [LEADLINE, "run", "--trace", "-o", f"{own}/x.lead", *options, "--",
             *require(label).command(*map(str, (script, *arguments)))],
            env={**os.environ, "TMPDIR": shared_folder(label), **dict(env)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS,
        )
        if check:
            assert result.returncode == 0, result.stderr
        return Trace(f"{own}/x.lead", result)


def trace(label, source, *options, **more):
    with placed(label, source) as script:
        return trace_at(label, script, *options, **more)


PLAIN = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers():
    for i in range(3):
        yield i

class Counter:
    def step(self, x):
        return abs(x) + len("abc")

print(fib(12), list(numbers()))
counter = Counter()
for i in range(100):
    counter.step(i)
"""


@pytest.mark.parametrize("label", EXPECTED)
def test_calls_are_counted(label):
    t = trace(label, PLAIN)
    step = "step" if label in BEFORE_QUALNAMES else "Counter.step"
    assert t.result.stdout == "144 [0, 1, 2]\n"
    assert t.calls("fib") == 465
    assert (t.calls("numbers"), t.resumes("numbers")) == (1, 3)
    assert t.calls(step) == t.calls("<built-in method builtins.abs>") == 100
    assert t.losses == []


@pytest.mark.parametrize("label", EXPECTED)
def test_reports_have_qualified_names(label, tmp_path):
    """Also where code objects know plain ones only, up to 3.10."""
    trace(label, PLAIN, f"--json={tmp_path}/x.json")
    functions = json.loads((tmp_path / "x.json").read_text())["functions"]
    assert [f["calls"] for f in functions if f["name"] == "Counter.step"] == [100]


LIVES = """
import json, threading, time
began = time.perf_counter()

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers(n):
    for i in range(n):
        yield i

def live(lives):
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.25:
        fib(8)
        sum(numbers(20))
        time.sleep(0.001)
    lives[threading.get_native_id()] = time.perf_counter() - begin

lives, limits = {}, []
for _ in range(2):
    begin = time.perf_counter()
    threads = [threading.Thread(target=live, args=(lives,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    limits.append(time.perf_counter() - begin)
print(json.dumps([lives, max(limits), time.perf_counter() - began]))
"""


@pytest.mark.alone
@pytest.mark.parametrize("label", EXPECTED)
def test_self_times_are_the_life_of_their_thread(label):
    """A thread's self times, as stamped, are together as long as it lives: at least as it measures itself, and at most as those
    measure who start it and wait for its end; ± 1 %."""
    begin = time.monotonic()
    t = trace(label, LIVES)
    whole = time.monotonic() - begin
    lives, limit, main = json.loads(t.result.stdout)
    sums = collections.Counter()
    for node in t.nodes:
        sums[node["tid"]] += node["self_ns"] / 1e9
    assert len(lives) == 4
    for tid, life in lives.items():
        assert 0.99 * life <= sums.pop(int(tid)) <= 1.01 * limit
    (rest,) = sums.values()
    assert 0.99 * main <= rest <= 1.01 * whole


# ---- edges, against a counter in pure Python ----------------------------------------------------------------------


def function_of(node):
    """[file, line, plain name], as the oracle names functions."""
    if node is None or not node["name"]:
        return None
    if node["file"]:
        return (node["file"], node["line"], node["name"].rpartition(".")[2])
    name = re.sub(r"^<method '(.*)' of .*$|^<built-in method (.*?)( of .*)?>$|^<(.*)>$",
                  lambda m: m.group(1) or m.group(2) or m.group(4), node["name"])
    return ("", 0, name.rpartition(".")[2])


def our_edges(t):
    edges = collections.defaultdict(lambda: [0, 0])
    for node in t.nodes:
        edge = edges[function_of(t.by_id.get(node["parent"])), function_of(node)]
        edge[0] += node["calls"]
        edge[1] += node["resumes"]
    return edges


def their_edges(label, script):
    command = require(label).command(str(script.parent / "oracle.py"), str(script))
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=SECONDS)
    as_function = lambda x: x and tuple(x)
    return {(as_function(a), as_function(b)): [calls, resumes]
            for a, b, calls, resumes in json.loads(result.stdout.splitlines()[-1])}


def of_program(edges, script, together):
    """The edges that begin or end in the program's file, without the outermost and without imports, which depend on
    what was imported before."""
    chosen = {}
    for (caller, callee), (calls, resumes) in edges.items():
        files = {f[0] for f in (caller, callee) if f}
        if any(file.startswith("<frozen importlib") for file in files):
            continue
        if str(script) in files and callee and callee[2] != "<module>" and calls + resumes:
            chosen[caller, callee] = calls + resumes if together else (calls, resumes)
    return chosen


@pytest.mark.parametrize("program", ("calls", "tasks"))
@pytest.mark.parametrize("label", EXPECTED)
def test_edges_are_those_of_the_oracle(label, program):
    with placed(label, TARGETS / f"{program}.py") as script:
        t = trace_at(label, script)
        together = label in BEFORE_MONITORING
        ours, theirs = (of_program(e, script, together) for e in (our_edges(t), their_edges(label, script)))
    assert len(theirs) > 20
    assert {k: (ours.get(k), theirs.get(k)) for k in ours.keys() | theirs if ours.get(k) != theirs.get(k)} == {}
    assert t.losses == []


# ---- threads, processes, ends ------------------------------------------------------------------------------------

THREADS = """
import _thread, ctypes, threading, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def bare(n):
    fib(n)
    done.append(n)

def called_from_c(argument):
    fib(9)
    return 0

def long():
    end = time.perf_counter() + 0.2
    while time.perf_counter() < end:
        fib(5)

done = []
for _ in range(4):
    _thread.start_new_thread(bare, (10,))
while len(done) < 4:
    time.sleep(0.001)

# A thread that Python did not make: the C library's.
libc = ctypes.CDLL(None)
callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(called_from_c)
handle = ctypes.c_ulong()
for _ in range(3):
    libc.pthread_create(ctypes.byref(handle), None, callback, None)
    libc.pthread_join(handle, None)

threads = [threading.Thread(target=long) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.beside
@pytest.mark.parametrize("label", EXPECTED)
def test_all_threads_are_traced_however_they_were_made(draw, label):
    t = trace(label, THREADS)
    assert t.calls("bare") == 4
    assert t.calls("called_from_c") == 3
    fibs = collections.Counter()
    for node in t.nodes:
        if node["name"] == "fib":
            fibs[outermost(t, node)["name"]] += node["calls"]
    assert (fibs["bare"], fibs["called_from_c"]) == (4 * 177, 3 * 109)
    # What a thread spent adds up to how long it lived.
    for i, node in enumerate(t.nodes):
        if node["name"] == "long":
            life = t.by_id[root(t, node)["id"]]["inclusive_ns"]
            own = sum(n["self_ns"] for n in t.nodes if root(t, n)["id"] == root(t, node)["id"])
            draw.share(f"own time of node {i}", own, life, low=0.99, high=1.01)
            assert life >= 200e6


def root(t, node):
    while node["parent"]:
        node = t.by_id[node["parent"]]
    return node


def outermost(t, node):
    """The outermost function of the program's own above a node: threading's come before it."""
    found = node
    while node["parent"]:
        if node["file"].endswith("program.py"):
            found = node
        node = t.by_id[node["parent"]]
    return found


ENDS = {
    "exit": ("import os\ndef f():\n    pass\nfor i in range(100): f()\nos._exit(3)\n", 3, {"f": 100}),
    "kill": ("import os\ndef f():\n    pass\nfor i in range(100): f()\nos.kill(os.getpid(), 9)\n", 137, {"f": 100}),
    "sys_exit": ("import sys\ndef f():\n    sys.exit(4)\nf()\n", 4, {"f": 1}),
    "error": ("def f():\n    1 / 0\nf()\n", 1, {"f": 1}),
    "syntax": ("def f(:\n", 1, {}),
    "fork": (
        "import os\ndef f():\n    pass\ndef g():\n    pass\nfor i in range(10): f()\npid = os.fork()\n"
        "if pid == 0:\n    for i in range(20): g()\n    os._exit(0)\nos.waitpid(pid, 0)\nf()\n", 0, {"f": 11, "g": 20}),
    "exec": (
        "import os, sys\ndef f():\n    pass\nfor i in range(10): f()\n"
        "os.execv(sys.executable, [sys.executable, '-c', 'def g():\\n    pass\\nfor i in range(20): g()'])\n", 0, {"f": 10, "g": 20}),
    "child": (
        "import subprocess, sys\ndef f():\n    pass\nf()\n"
        "subprocess.check_call([sys.executable, '-c', 'def g():\\n    pass\\nfor i in range(20): g()'])\n", 0, {"f": 1, "g": 20}),
    "deep": ("import sys\ndef f(n):\n    return f(n + 1)\ntry:\n    f(0)\nexcept RecursionError:\n    print('caught')\n", 0, {}),
}


@pytest.mark.parametrize("label", EXPECTED)
@pytest.mark.parametrize("how", ENDS)
def test_nothing_that_was_complete_is_lost(label, how):
    source, status, truth = ENDS[how]
    t = trace(label, source, check=False)
    assert t.result.returncode == status, t.result.stderr
    assert {name: t.calls(name) for name in truth} == truth


def test_a_program_that_cannot_be_traced_is_told_so():
    python = require("3.12").exe
    with placed("3.12", "print(1)\n") as script, tempfile.TemporaryDirectory() as own:
        for options in (["-I"], ["-E"], ["-S"]):
            result = subprocess.run(
                [LEADLINE, "run", "--trace", "-o", f"{own}/x{options[0]}.lead", "--", python, *options, script],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
            assert (result.returncode, result.stdout) == (0, "1\n")
            assert "PYTHONPATH" in result.stderr


SPINS = """
import time

def work():
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        pass

work()
"""


def test_a_child_that_keeps_the_agent_out_is_named():
    """Children are looked at when they are a second old; they end when leadline has woken often enough after that."""
    child = "import sys; sys.stdin.read()"
    program = f"""
import os, subprocess, sys, time
left = {{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}}
all = [subprocess.Popen([sys.executable, *options, "-c", {child!r}], stdin=subprocess.PIPE, env=env)
       for options, env in (([], left), (["-I"], None), ([], None))]
def wakes():
    with open("/proc/%d/status" % os.getppid()) as status:
        return int(status.read().partition("\\nvoluntary_ctxt_switches:")[2].split()[0])
print(*(p.pid for p in all), flush=True)
time.sleep(1.2)
enough = wakes() + 30
while wakes() < enough:
    time.sleep(0.02)
for p in all: p.communicate()
"""
    t = trace("3.12", program)
    alone, isolated, _ = t.result.stdout.split()
    assert (f"Tracing: processes {alone} (python3.12), {isolated} (python3.12) kept the agent out "
            "(PYTHONPATH reset, or python -I, -E, -S): nothing of them is counted") in t.result.stderr


@pytest.mark.parametrize("launcher", (["-I"], ["-E"]))
def test_what_cannot_be_traced_is_sampled(launcher, tmp_path):
    python = require("3.13").exe
    script = tmp_path / "spins.py"
    script.write_text(SPINS)
    what = "--trace" if launcher == ["-I"] else "--lines=work"
    r = subprocess.run([LEADLINE, "run", what, "-o", tmp_path / "x.lead", f"--json={tmp_path}/x.json", "--", python, *launcher, script],
                       capture_output=True, text=True, check=True, timeout=SECONDS)
    said = json.loads((tmp_path / "x.json").read_text())
    assert said["fidelity"]["engine"] == "sample/remote" and said["functions"][0]["name"] == "work"
    assert "sampled from outside after their first second" in r.stderr


def test_what_is_traced_is_not_sampled(tmp_path):
    script = tmp_path / "spins.py"
    script.write_text(SPINS)
    subprocess.run([LEADLINE, "run", "--trace", "-o", tmp_path / "x.lead", f"--json={tmp_path}/x.json", "--python", require("3.13").exe, script],
                   capture_output=True, check=True, timeout=SECONDS)
    said = json.loads((tmp_path / "x.json").read_text())
    assert not said["fidelity"]["engine"] and not said["fidelity"]["samples"]
    assert {f["name"]: f["calls"] for f in said["functions"]}["work"] == 1


def test_a_syntax_error_is_the_programs_own(tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text("def f(:\n    pass\n")
    for what in ("--trace", "--count", "--lines=f"):
        r = subprocess.run([LEADLINE, "run", what, "-o", tmp_path / f"x{what[2:4]}.lead", "--python", require("3.13").exe, script],
                           capture_output=True, text=True, check=False, timeout=SECONDS)
        assert r.returncode == 1 and "SyntaxError" in r.stderr and "wrong.py" in r.stderr
    r = subprocess.run([LEADLINE, "run", "--trace", "-o", tmp_path / "y.lead", "--python", require("3.8").exe, script],
                       capture_output=True, text=True, check=False, timeout=SECONDS)  # where telling of it needs no call
    assert r.returncode == 1 and "No calls were traced: the program ended before its first one." in r.stderr


CHAINED = """
import sys
print("sitecustomize" in sys.modules and sys.modules["sitecustomize"].__file__)
print([p for p in sys.path if "bootstrap" in p], [p for p in sys.path_importer_cache if "bootstrap" in p])
try:
    import sitecustomize
    print(sitecustomize.value)
except ImportError as e:
    print(e.name)
"""


@pytest.mark.parametrize("label", ("3.8", "3.11", "3.13"))
def test_the_programs_own_sitecustomize_runs(label, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("value = 'its own'\n")
    t = trace(label, CHAINED, env={"PYTHONPATH": str(tmp_path)})
    assert t.result.stdout == f"{tmp_path}/sitecustomize.py\n[] []\nits own\n"
    plain = subprocess.run([require(label).exe, "-c", CHAINED], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert trace(label, CHAINED).result.stdout == plain


OTHERS = """
import cProfile, pstats, sys
def f(): pass
def work():
    for i in range(10): f()
work()
p = cProfile.Profile()
p.enable()
work()
p.disable()
print([v[0] for k, v in pstats.Stats(p).stats.items() if k[2] == "f"])
seen = []
sys.setprofile(lambda frame, event, arg: seen.append(event) if frame.f_code.co_name == "f" else None)
work()
sys.setprofile(None)
print(len(seen), sys.getprofile())
sys.settrace(lambda *a: None)
work()
sys.settrace(None)
"""


@pytest.mark.parametrize("label", EXPECTED)
def test_profilers_of_the_programs_own_see_what_they_see_without_us(label):
    t = trace(label, OTHERS)
    assert t.result.stdout == "[10]\n20 None\n"
    if label in BEFORE_MONITORING:
        assert "a profile function of its own" in t.meta["trace_notes"]
        assert "a profile function of its own" in t.result.stderr
        assert t.calls("f") >= 10
    else:
        assert t.calls("f") == 40
        assert "trace_notes" not in t.meta


HOLDERS = """
import sys
sys.monitoring.use_tool_id(3, "first of others")
sys.monitoring.use_tool_id(4, "second of others")
"""


def test_holders_of_the_ids_are_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HOLDERS)
    t = trace("3.13", "print(1)\n", env={"PYTHONPATH": str(tmp_path)})
    assert t.result.stdout == "1\n"
    assert "first of others holds id 3, second of others holds id 4" in t.result.stderr
    assert t.nodes == []


MADE = """
def run(n):
    for i in range(n):
        exec("def made(x):\\n    return x\\nmade(1)", {})
run(3000)
"""


@pytest.mark.parametrize("label", ("3.8", "3.11", "3.12", "3.13t", "3.15"))
def test_code_made_again_and_again_is_one_function(label):
    t = trace(label, MADE)
    assert t.calls("made") == 3000
    assert len(t.nodes) < 30


# Functions that run when tracing begins, and are called again while it is on: cProfile, too, has not seen the first of these calls.
RUNNING = """
import json, pkgutil, runpy, sys, typing  # so that nothing is imported meanwhile

def target():
    exec(compile("len('a')", "<string>", "exec"), {})
    runpy.run_path(sys.argv[2])

def outer(n):
    return again(n) if n else 0

def again(n):
    return outer(n - 1)

def main():
    if sys.argv[1] == "cProfile":
        import cProfile
        profile = cProfile.Profile()
    else:
        import leadline
        profile = leadline.Tracer()
    def measured(n):
        if n:
            return measured(n - 1)
        profile.enable()
        target()
        outer(3)
        inner(2)
        profile.disable()
    def inner(n):
        if n:
            inner(n - 1)
    measured(2)
    profile.create_stats()
    rows = getattr(profile.stats, "stats", profile.stats)
    files = ("program.py", "other.py", "<string>", "runpy.py", "<frozen runpy>")
    rows = sorted([f[0].rpartition("/")[2], f[1], f[2].rpartition(".")[2], *rows[f][:2]] for f in rows if rows[f][1])
    print(json.dumps([row for row in rows if row[0] in files]))

main()
"""


@pytest.mark.parametrize("how", ["-m", "-c"])
@pytest.mark.parametrize("label", ["3.8", "3.11", "3.12", "3.13"])
def test_what_runs_already_is_no_call(label, how):
    with placed(label, RUNNING) as script:
        other = script.parent / "other.py"
        other.write_text("def f():\n    return 1\nf()\n")
        env = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{script.parent}", "LEADLINE_BINARY": str(LEADLINE)}
        said = []
        for tracer in ("cProfile", "leadline"):
            result = subprocess.run(require(label).command(*(("-m", "program") if how == "-m" else ("-c", RUNNING)), tracer, str(other)),
                                    env=env, capture_output=True, text=True, timeout=SECONDS)
            assert result.returncode == 0, result.stderr
            said.append(json.loads(result.stdout))
    assert said[1] == said[0]
