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
    assert result["functions"][0]["name"] == "spin" and result["fidelity"]["samples"] > 100
    (region,) = result["regions"]
    assert region["name"] == "work" and region["times"] == 1 and 0.25 < region["seconds"] <= result["wall_s"]
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
    done = run_program("3.12", SPIN + """
s = leadline.sample(output="x.lead")
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
    assert lines[1].startswith("2 --rate wants a number")
    assert lines[2] == "5 cannot create /no/such/folder/x.lead: No such file or directory"
    assert lines[3] == "7 this recorder records already"
    assert lines[4] == "5 cannot write /no/such/folder/x.lead: No such file or directory"
    assert lines[5].startswith("2 report: --sort calls: this recording holds samples")
    assert lines[6] == "2 report: unknown option --nonsense"


def test_a_host_started_by_hand_says_what_it_is_for():
    done = subprocess.run([LEADLINE, "host"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "the Python package starts it" in done.stderr
    assert " host" not in subprocess.run([LEADLINE, "help"], capture_output=True, text=True, check=True).stdout
