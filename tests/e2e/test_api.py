"""The Python package: a program that records itself, on every interpreter."""
import json
import subprocess

import pytest
from conftest import LEADLINE, wait_until
from interpreters import EXPECTED
from programs import output_of, run_program

SPIN = """
import json, os, sys, threading, time
import leadline

def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))
"""


# ---- the sampler on oneself -----------------------------------------------------------------------------------


@pytest.mark.parametrize("label", EXPECTED)
def test_a_program_samples_itself(tool, label, tmp_path):
    out = output_of(label, SPIN + """
with leadline.sample() as s:
    with leadline.region("work"):
        spin(0.3)
s.save("x.lead")
s.print_stats(limit=3)
print(json.dumps(s.json()))
""", keep=tmp_path)
    text, _, document = out.rstrip("\n").rpartition("\n")
    assert "Functions" in text and "spin" in text and "program.py" in text
    result = json.loads(document)
    assert result["functions"][0]["name"] == "spin"
    assert result["fidelity"]["samples"] > 100  # of 300
    (region,) = result["regions"]
    assert region["name"] == "work" and region["times"] == 1 and 0.25 < region["total_s"] <= result["wall_s"]
    assert json.loads(tool("report", "--json", tmp_path / "x.lead").stdout)["functions"] == result["functions"]
    assert "Regions" in tool("report", "--regions", tmp_path / "x.lead").stdout


def test_regions_of_threads_and_of_decorated_functions_are_all_there():
    out = output_of("3.12", SPIN + """
import asyncio
@leadline.region("each")
def each(): pass
@leadline.region("later")
async def later(): return 7
with leadline.region("before"): each()
s = leadline.Sampler(rate=100)
s.start()
def work():
    for _ in range(600): each()
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
assert asyncio.run(later()) == 7
try:
    with leadline.region("fails"): 1 / 0
except ZeroDivisionError: pass
else: sys.exit("a region has swallowed an exception")
s.stop()
with leadline.region("after"): each()
print(json.dumps({r["name"]: [r["times"], r["threads"]] for r in s.json()["regions"]}))
""")
    assert json.loads(out) == {"each": [1800, 3], "later": [1, 1], "fails": [1, 1]}


@pytest.mark.parametrize("label", EXPECTED)
def test_without_a_recording_regions_do_nothing(label):
    output_of(label, """
import leadline
from leadline import region
@region("f")
def f(a, *, b): "doc"; return a + b
assert f(1, b=2) == 3 and f.__name__ == "f" and f.__doc__ == "doc"
for name in ("x", "x", "y"):
    with region(name): pass
try:
    with region("x"): 1 / 0
except ZeroDivisionError as error: assert error.__traceback__ is not None
else: raise SystemExit("a region has swallowed an exception")
for i in range(20000):
    with region("step %d" % i): pass
import sys
heard = []
sys.addaudithook(lambda event, args: heard.append(event))
for _ in "ab":
    with region("x"): pass
assert not heard, heard
""")


def test_the_program_gets_no_child_and_keeps_none():
    out = output_of("3.12", SPIN + """
with leadline.sample() as s:
    spin(0.05)
try: os.waitpid(-1, os.WNOHANG); sys.exit("there is a child")
except ChildProcessError: pass
print(s._host.pid)
""")
    wait_until(lambda: subprocess.run(["kill", "-0", out.strip()], capture_output=True, check=False).returncode != 0,
               "the end of the tool process")


def test_a_program_that_just_ends_leaves_nothing_behind(tool, tmp_path):
    done = run_program("3.12", SPIN + f"""
s = leadline.sample(output={str(tmp_path / "x.lead")!r})
s.start()
print(s._host.pid, flush=True)
spin(0.3)
if os.fork() == 0:
    try: s.stop(); s.save("y.lead")
    except leadline.Error as e: print(e, flush=True)
    os._exit(0)
os.wait()
os._exit(3)
""", keep=tmp_path)
    assert done.returncode == 3, done.stderr
    pid, words = done.stdout.splitlines()
    assert words == "this recorder belongs to another process"
    wait_until(lambda: subprocess.run(["kill", "-0", pid], capture_output=True, check=False).returncode != 0,
               "the end of the tool process")
    shown = tool("report", "--json", tmp_path / "x.lead")
    assert json.loads(shown.stdout)["functions"][0]["name"] == "spin"
    assert not (tmp_path / "y.lead").exists()


def test_what_cannot_be_done_is_said():
    out = output_of("3.11", SPIN + """
def says(what, *args, **kwargs):
    try: what(*args, **kwargs)
    except leadline.Error as e: print(e.status, e)
    else: print("nothing")
s = leadline.sample()
says(s.save, "x.lead")
says(leadline.sample("often").start)
says(leadline.sample(output="/no/such/folder/x.lead").start)
s.start()
says(s.start)
s.stop()
s.stop()
says(s.save, "/no/such/folder/x.lead")
says(s.print_stats, sort="calls")
says(s.report, "--nonsense")
s.save("x.lead")
""")
    lines = out.splitlines()
    assert lines[0] == "7 nothing was recorded yet: call start(), or use it with 'with'"
    assert lines[1].startswith("2 --rate expects a number")
    assert lines[2] == "5 cannot create /no/such/folder/x.lead: No such file or directory"
    assert lines[3] == "7 this recorder is already recording"
    assert lines[4] == "5 cannot write /no/such/folder/x.lead: No such file or directory"
    assert lines[5].startswith("2 report: ") and "samples" in lines[5] and "/proc/" not in lines[5]
    assert lines[6] == "2 report: unknown option --nonsense"


def test_a_host_started_by_hand_says_what_it_is_for():
    done = subprocess.run([LEADLINE, "host"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "the Python package starts it" in done.stderr
    assert " host" not in subprocess.run([LEADLINE, "help"], capture_output=True, text=True, check=True).stdout


# ---- the tracer, instead of cProfile --------------------------------------------------------------------------

WORK = """
import sys, threading
import leadline

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def order():
    return sorted([3, 1, 2], key=lambda x: -x)

def steps():
    yield 1
    yield 2

def work():
    fib(10)
    order()
    list(steps())
"""
# Programs as people wrote them for cProfile; PROFILER is the module.
FOR_CPROFILE = {
    "enable and disable": "pr = PROFILER.Profile()\npr.enable()\nwork()\npr.disable()\nwork()\n"
                          "pr.enable()\nfib(3)\npr.disable()\n",
    "context": "with PROFILER.Profile() as pr:\n    work()\n",
    "runcall": "pr = PROFILER.Profile()\nassert pr.runcall(fib, 10) == 55 and pr.runcall(max, 1, 2, key=abs) == 2\n",
    "runctx": "pr = PROFILER.Profile(subcalls=True, builtins=True).runctx('work()', globals(), {})\n",
    "run": "pr = PROFILER.Profile(timeunit=0.0)\npr.run('work()')\n",
    "raises": "pr = PROFILER.Profile()\ntry: pr.runcall(lambda: [fib(2), 1 / 0])\nexcept ZeroDivisionError: pass\n",
    "without builtins": "pr = PROFILER.Profile(builtins=False)\npr.enable()\nwork()\npr.disable()\n",
}
SHOW = """
import json, pstats
def is_own(file, name):
    return "cProfile" in file or "profiling/tracing" in file or "Profiler" in name
pr.create_stats()
rows = pstats.Stats(pr).stats
found = sorted([f[0].rpartition("/")[2], f[1], f[2], cc, nc,
                sorted([c[2], v[0], v[1]] for c, v in callers.items() if not is_own(c[0], c[2]))]
               for f, (cc, nc, tt, ct, callers) in rows.items() if not is_own(f[0], f[2]))
counts = {}
for e in pr.getstats():
    file, name = ("", e.code) if isinstance(e.code, str) else (e.code.co_filename, e.code.co_name)
    if not is_own(file, name): counts[name] = [e.callcount, e.reccallcount]
pr.dump_stats("x.prof")
assert pstats.Stats("x.prof").stats.keys() == rows.keys()
print(json.dumps([found, counts]))
"""


@pytest.mark.parametrize("label", EXPECTED)
def test_programs_written_for_cprofile_count_the_same(label):
    """All of them in one program each way: what cProfile says is the truth here."""
    def program(module):
        text = WORK + "import cProfile\n"
        for name, code in FOR_CPROFILE.items():
            text += f"# {name}\n" + code.replace("PROFILER", module) + SHOW
        return text

    ours, theirs = (output_of(label, program(module)).splitlines() for module in ("leadline", "cProfile"))
    for name, one, other in zip(FOR_CPROFILE, map(json.loads, ours), map(json.loads, theirs)):
        # cProfile itself takes no notice of it there.
        if name != "without builtins" or label not in ("3.14", "3.15"):
            assert one == other, name
    assert len(ours) == len(theirs) == len(FOR_CPROFILE)


@pytest.mark.parametrize("label", ["3.8", "3.11", "3.12", "3.13t", "3.15"])
def test_a_tracer_sees_threads_and_goes_on_where_it_stopped(tool, label, tmp_path):
    out = output_of(label, WORK + """
import pstats
go, done = threading.Event(), threading.Event()
def other():
    go.wait(); go.clear(); fib(5); done.set()
    go.wait(); fib(5); done.set()
def twice():
    done.clear(); go.set(); done.wait()
thread = threading.Thread(target=other)
thread.start()
t = leadline.Tracer()
t.enable(); twice(); t.disable()
fib(8)
t.enable(); twice(); t.disable()
thread.join()
assert isinstance(t.stats, pstats.Stats)
print([row[1] for f, row in t.stats.items() if f[2] == "fib"])
t.save("x.lead")
@leadline.Tracer()
def nested(n): return n and nested(n - 1)
for _ in range(3):
    with leadline.trace() as t: fib(4)
    print([row[:2] for f, row in t.stats.items() if f[2] == "fib"])
nested(3)
""", keep=tmp_path)
    assert out.splitlines() == ["[30]"] + ["[(1, 9)]"] * 3
    functions = json.loads(tool("report", "--json", tmp_path / "x.lead").stdout)["functions"]
    assert [f["calls"] for f in functions if f["name"] == "fib"] == [30]
    assert not [f for f in functions if "/leadline/_" in (f["file"] or "") or "_leadline_agent" in f["name"]]


def test_a_tracer_in_the_way_of_another_says_so():
    out = output_of("3.11", WORK + """
def says(what, *args):
    try: what(*args)
    except leadline.Error as e: print(e)
a, b = leadline.Tracer(), leadline.Tracer()
a.enable(); says(b.enable); a.disable()
b.enable(); b.disable()
says(leadline.Tracer, lambda: 0)
sys.setprofile(lambda *args: None)
says(leadline.Tracer().enable)
sys.setprofile(None)
""")
    assert out.splitlines() == ["another tracer is active", "leadline uses its own clock: timer is not supported",
                                "calls cannot be traced: the program has set a profile function of its own"]


@pytest.mark.parametrize("label", ["3.8", "3.11", "3.13", "3.13t", "3.15"])
def test_tracers_that_take_turns_keep_apart_what_they_count(label):
    out = output_of(label, """
import json, leadline
def f(): pass
def g(): pass
def outer(): f(); g()
a, b = leadline.Tracer(), leadline.Profile(exclude=["g", "nothing.py"])
for turn in range(3):
    for tracer in a, b:
        tracer.enable(); outer(); f(); tracer.disable()
with leadline.trace() as c: outer()
c.snapshot_stats()
for tracer in a, b, c:
    print(json.dumps({f[2]: row[1] for f, row in tracer.stats.items()}))
print("--exclude): g,nothing.py;" in " ".join(b.report().split()), b.json()["fidelity"]["excluded"], "--exclude" in a.report())
with leadline.trace(exclude="outer") as d:
    f()
    d.snapshot_stats()
    f()
print(d.stats[[k for k in d.stats if k[2] == "f"][0]][1])
""").splitlines()
    assert [json.loads(line) for line in out[:3]] == [{"outer": 3, "f": 6, "g": 3}, {"outer": 3, "f": 6}, {"outer": 1, "f": 1, "g": 1}]
    assert out[3:] == ["True g,nothing.py False", "2"]


@pytest.mark.parametrize("label", ["3.12", "3.15"])
def test_who_holds_the_ids_of_monitoring_is_told(label):
    out = output_of(label, """
import sys, leadline
sys.monitoring.use_tool_id(3, "one tool")
sys.monitoring.use_tool_id(4, "another")
def f(): pass
for recorder in leadline.trace(), leadline.lines(f):
    try: recorder.start()
    except leadline.Error as e: print(e)
""")
    why = "one tool holds id 3, another holds id 4: no id of sys.monitoring is free"
    assert out.splitlines() == [f"calls cannot be traced: {why}", f"lines cannot be counted: {why}"]


def test_module_functions_print_the_table():
    out = output_of("3.12", WORK + """
leadline.run("work()", sort="cumtime")
leadline.runctx("fib(n)", globals(), {"n": 3}, "x.prof")
assert leadline.runcall(fib, 4) == 3
leadline.run("import sys; sys.exit(3)")
import pstats
print([row[1] for f, row in pstats.Stats("x.prof").stats.items() if f[2] == "fib"])
""")
    assert "function calls (" in out and "Ordered by: cumulative time" in out and "program.py:5(fib)" in out
    assert out.count("function calls") == 3 and out.endswith("[5]\n")


# ---- python -m leadline, instead of python -m cProfile --------------------------------------------------------

PROGRAM = """
import os, pickle, sys
class Thing: pass
def main():
    print(sys.argv, __name__, sys.path[0] == os.getcwd(), type(pickle.loads(pickle.dumps(Thing()))) is Thing)
    print(__file__, sys.modules["__main__"].Thing is Thing)
main()
"""


def test_a_script_runs_as_under_cprofile(tmp_path):
    for words in ([], ["-s", "cumtime"], ["-s", "2", "-o", "x.prof"], ["-otime.prof", "--sort=calls"]):
        done = run_program("3.12", PROGRAM + "sys.exit(7)", "a", "-o", "b", module=["-m", "leadline", *words], keep=tmp_path)
        lines = done.stdout.splitlines()
        assert done.returncode == 7 and not done.stderr
        assert lines[:2] == ["['program.py', 'a', '-o', 'b'] __main__ True True", "program.py True"]
        assert bool(lines[2:]) == ("-o" not in "".join(words)), words
        assert not lines[2:] or "function calls" in done.stdout and "(main)" in done.stdout
    assert (tmp_path / "x.prof").exists() and (tmp_path / "time.prof").exists()


@pytest.mark.parametrize("label", EXPECTED)
def test_a_module_runs_as_under_cprofile(label):
    done = run_program(label, PROGRAM, module=["-m", "leadline", "-s", "ncalls", "-m", "program"])
    done = run_program(label, PROGRAM.replace("program.py", ""), module=["-m", "leadline", "-m"]) if done.returncode else done
    assert "__main__ True True" in done.stdout and "Ordered by: call count" in done.stdout, done.stdout + done.stderr


def test_what_is_wrong_with_a_command_line_is_said():
    for words, status, text in ((["-s", "often"], 125, "there is no sort key 'often'"), (["-o"], 125, "which program?"),
                                (["no_such_file.py"], 125, "cannot read no_such_file.py: No such file or directory"),
                                (["-m", "no_such_module"], 1, "No module named")):
        done = run_program("3.12", "", module=["-m", "leadline", *words])
        assert done.returncode == status and text in done.stderr, done.stderr
    done = run_program("3.12", "1 / 0", module=["-m", "leadline"])
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr and "function calls" in done.stdout
    done = run_program("3.12", "def f(:", module=["-m", "leadline"])
    assert done.returncode == 1 and "SyntaxError" in done.stderr


# ---- lines ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", EXPECTED)
def test_lines_of_chosen_functions_are_counted(label):
    out = output_of(label, """
import json
import leadline

def total(n):
    s = 0
    for i in range(n):
        s += i
    return s

def twice():
    return total(3) + total(4)

class Thing:
    @leadline.lines
    def method(self, n):
        return [total(n),
                total(n)]

def hits(counted):
    print(json.dumps(sorted([x["line"], x["hits"]] for x in counted.json()["lines"])))

with leadline.lines(total, twice) as counted: twice()
hits(counted)
counted.print_stats()
with leadline.lines(total) as counted: total(5)
hits(counted)
with leadline.trace() as t: twice()
print(json.dumps(sorted((f[2], row[1]) for f, row in t.stats.items() if "range" not in f[2])))
assert Thing().method(2) == [1, 1] and Thing.method.__name__ == "method"
Thing.method.save("x.lead")
hits(Thing.method)
for wrong in ((), (len,)):
    try: leadline.lines(*wrong)
    except leadline.Error as e: print(e)
""")
    lines = out.splitlines()
    assert json.loads(lines[0]) == [[6, 2], [7, 9], [8, 7], [9, 2], [12, 1]]
    assert "total" in out and "s += i" in out and "in 2 calls" in out
    assert [[6, 1], [7, 6], [8, 5], [9, 1]] == json.loads(lines[-5])
    assert json.loads(lines[-4]) == [["total", 2], ["twice", 1]]
    assert [line for line, _ in json.loads(lines[-3])][:2] == [17, 18]
    assert lines[-2] == lines[-1] == "lines() expects Python functions, methods or classes"


# ---- a leadline of another version ------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ("3.8", "3.13"))
def test_an_agent_that_meets_a_leadline_of_another_version_says_so(label):
    """As in a notebook that was open while leadline was upgraded."""
    out = output_of(label, """
import os, socket, struct, tempfile
import leadline
from leadline import _agent

with leadline.Tracer():
    pass
with tempfile.TemporaryDirectory() as session:
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.bind(session + "/socket")
    door.listen(1)
    child = os.fork()
    if child == 0:
        s, _ = door.accept()
        s.recv(1000)
        s.send(struct.pack("=8sIiQ128s", b"leadline", 1000, 71, 0, b"the agent is of another version than the tool"))
        os._exit(0)
    try:
        _agent.attach(session)
    except leadline.Error as error:
        print(error)
    os.waitpid(child, 0)
with leadline.Tracer() as t:
    sorted([])
print(sum(row.callcount for row in t.getstats() if "sorted" in str(row.code)))
""")
    assert out.splitlines() == ["this interpreter has loaded the agent of another leadline version: restart it", "1"]
