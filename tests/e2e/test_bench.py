"""`bench` and `compare`: what they measure against other clocks, what others make of their files, what is wrong is said."""
import csv
import io
import json
import os
import re
import statistics
import subprocess
import sys
import time

import pytest
from conftest import ROOT
from interpreters import EXPECTED, require

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

IN_PLACE = [v for v in EXPECTED if v not in ("3.14", "3.15")]  # those live in another root


def bench(tool, *args, **kwargs):
    out = tool.tmp / "bench.json"
    r = tool("bench", "--force", f"--json={out}", *args, **kwargs)
    assert r.returncode == 0, r.stderr
    return r, json.loads(out.read_text())["benchmarks"]


def values(benchmark):
    return [v for run in benchmark["runs"] for v in run["values"]]


@pytest.mark.parametrize("label", IN_PLACE)
def test_a_statement_is_timed_in_several_processes(tool, label):
    python = require(label).command()[0]
    r, (b,) = bench(tool, "--python", python, "--processes", 3, "--time", 0.3, "-s", "x = list(range(100))", "sum(x)")
    assert b["metadata"]["name"] == "sum(x)" and len(b["runs"]) == 3
    loops = {run["metadata"]["loops"] for run in b["runs"]}
    assert len(loops) == 1 and loops.pop() > 100
    assert all(1e-8 < v < 1e-3 for v in values(b))
    assert "median" in r.stdout and "timeit's line:" in r.stdout


def test_a_sleep_takes_as_long_as_it_sleeps(draw, tool):
    _, (b,) = bench(tool, "--processes", 3, "--time", 0.3, "-s", "import time", "time.sleep(0.02)")
    assert 0.02 <= min(values(b))
    draw.hold("shortest, s", min(draw.add("sleeps", *values(b))), high=0.025)
    assert all(run["metadata"]["loops"] == 1 for run in b["runs"])


SLOW_AT_FIRST = """import time
seen = []
def f():
    if len(seen) < SLOW:
        seen.append(time.sleep(0.03))"""


@pytest.mark.parametrize("slow", [1, 3])
def test_slow_first_calls_do_not_make_batches_of_one_loop(tool, slow):
    """As a compiler or a cache makes them: all batches are of those after them, and long against the clock."""
    _, (b,) = bench(tool, "--processes", 2, "--time", 0.3, "-s", SLOW_AT_FIRST.replace("SLOW", str(slow)), "f()")
    assert all(run["metadata"]["loops"] > 1000 for run in b["runs"])
    assert max(b["runs"][0]["values"]) < 0.03 / 1000


def test_an_empty_loop_costs_what_timeit_says(draw, tool):
    """± 4 ns of timeit, half of what a loop costs: one that takes the loop off, or counts it twice, is off by all of it. (Two runs of timeit
    differ by 2 ns.) In the same interpreter and in batches of the same length: short ones cost 2 ns more a loop. Processes
    differ, each by where its memory happens to lie: the best of each counts, and of those the middle."""
    _, (b,) = bench(tool, "--python", sys.executable, "--processes", 9, "--time", 3, "-p", "pass")
    ours = draw.add("ours", *(min(run["values"]) * 1e9 for run in b["runs"]))
    theirs = []
    for run in b["runs"]:
        told = subprocess.run([sys.executable, "-m", "timeit", "-p", "-r", "40", "-n", str(run["metadata"]["loops"]), "-u", "nsec", "pass"],
                              capture_output=True, text=True, check=True).stdout
        theirs = draw.add("theirs", float(told.split("best of 40: ")[1].split()[0]))
    draw.hold("ours − theirs, ns", statistics.median(ours) - statistics.median(theirs), low=-4, high=4)


def test_n_and_r_are_timeit_to_the_letter(tool):
    """One process; the set-up runs before each repetition; the line is timeit's."""
    log = tool.tmp / "log"
    r = tool("bench", "-n", 7, "-r", 3, "-s", f"f = open({str(log)!r}, 'a'); f.write('setup ')", "f.write('x ')")
    assert r.returncode == 0, r.stderr
    assert log.read_text().split() == (["setup"] + ["x"] * 7) * 3
    assert r.stdout.startswith("7 loops, best of 3: ") and r.stdout.splitlines()[0].endswith("sec per loop")
    r = tool("bench", "-n", 5, "-r", 2, "-v", "-u", "usec", "pass")
    assert r.stdout.startswith("raw times: ") and " usec, " in r.stdout


def test_words_that_go_on_are_one_statement(tool):
    r = tool("bench", "-n", 1, "-r", 1, "try:", "  1/0", "except ZeroDivisionError:", "  pass")
    assert r.returncode == 0 and r.stdout.startswith("1 loop, best of 1: ")


def test_a_function_is_imported_from_here(tool):
    (tool.tmp / "mine.py").write_text("def work():\n    return sum(range(50))\ndef other(n):\n    pass\n")
    r, (b,) = bench(tool, "--processes", 2, "--time", 0.1, "mine:work", cwd=tool.tmp)
    assert b["metadata"]["name"] == "mine:work"
    r = tool("bench", "mine:other", cwd=tool.tmp)
    assert r.returncode == 8 and "needs arguments" in r.stderr and "mine:other cannot be called" in r.stderr
    r = tool("bench", "mine:nothing", cwd=tool.tmp)
    assert r.returncode == 8 and "cannot be imported" in r.stderr


@pytest.mark.parametrize("args, words", [
    (["(x for x in range(10))"], "the result is a generator"),
    (["map(str, [1])"], "the result is a lazy map"),
    (["-s", "async def f(): pass", "f()"], "the result is a coroutine"),
    (["-s", "x = 1.0", "x = x * 1.5"], "rebinds x from the set-up, so each loop works on the previous loop's result, and in the end x had become inf or nan"),
    (["-s", "x = 1.0", "x = x / 3"], "in the end x had become 0"),
    (["--python", sys.executable, "-s", "import numpy\nx = numpy.full((2, 2), 1.1)", "x = x.dot(x)"], "in the end x had become inf or nan"),
    (["-s", "x = 3", "x = x * 3 % 7 + 1"], "previous loop's result; use another name"),
    (["-s", "x = []", "x = x + [1]"], "in the end x had grown from 0 to "),
    (["-s", "import time\nfirst = []\ndef f():\n  first or (first.append(1), time.sleep(0.05))", "f()"], "the first call took"),
])
def test_pitfalls_are_told(tool, args, words):
    r = tool("bench", "--processes", 2, "--time", 0.1, *args)
    assert r.returncode == 0 and words in r.stdout, r.stdout + r.stderr


TORCH = """
import os
log = os.open(os.environ.get("TORCH_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
class cuda:
    is_available = staticmethod(lambda: AVAILABLE)
    synchronize = staticmethod(lambda: os.write(log, b"s"))
class Tensor:
    is_cuda = True
def work():
    os.write(log, b"w")
    return Tensor()
"""


@pytest.mark.parametrize("args, expected", [
    # The first call alone, then each batch, between two waits; the look at the result comes last, outside of all.
    (["--processes", 1, "--time", 0.01], r"sws(sw+s)+w"),
    (["-n", 4, "-r", 3], r"(swwwws){3}")])
def test_the_device_is_waited_for_once_per_batch(tool, args, expected):
    (tool.tmp / "torch.py").write_text(TORCH.replace("AVAILABLE", "True"))
    env = {**os.environ, "PYTHONPATH": str(tool.tmp), "TORCH_LOG": str(tool.tmp / "log")}
    r = tool("bench", "--sync", "torch", *args, "-s", "from torch import work", "work()", env=env)
    assert r.returncode == 0 and "CUDA tensor" not in r.stdout, r.stdout + r.stderr
    assert re.fullmatch(expected, (tool.tmp / "log").read_text()), (tool.tmp / "log").read_text()[:200]
    r = tool("bench", "--processes", 1, "--time", 0.01, "-s", "from torch import work", "work()", env=env)
    assert "the result is a CUDA tensor" in r.stdout and "--sync torch" in r.stdout


@pytest.mark.parametrize("text, words", [(TORCH.replace("AVAILABLE", "False"), "torch sees no GPU here"), ("raise ImportError('broken')", "torch cannot be imported here (broken)")])
def test_without_a_gpu_there_is_nothing_to_wait_for(tool, text, words):
    (tool.tmp / "torch.py").write_text(text)
    for command in (["bench"], ["compare", "pass"]):
        r = tool(*command, "--sync", "torch", "pass", env={**os.environ, "PYTHONPATH": str(tool.tmp)})
        assert r.returncode == 8 and words in r.stderr and "Traceback" not in r.stderr


def test_a_statement_without_pitfalls_has_none(tool):
    r = tool("bench", "--processes", 2, "--time", 0.1, "-s", "x = 1", "y = x + 1")
    assert "the result" not in r.stdout and "anew" not in r.stdout


def test_commands_are_timed_as_hyperfine_does(draw, tool):
    theirs = tool.tmp / "theirs.json"
    subprocess.run(["hyperfine", "-N", "--style", "none", "--export-json", theirs, "--runs", "20", "sleep 0.1"], check=True,
                   capture_output=True)
    theirs = json.loads(theirs.read_text())["results"][0]
    ours = tool.tmp / "ours.json"
    r = tool("bench", "--runs", 20, "--export-json", ours, "--", "sleep", "0.1")
    assert r.returncode == 0, r.stderr
    ours = json.loads(ours.read_text())["results"][0]
    assert set(ours) >= set(theirs) - {"command"}
    assert ours["median"] == pytest.approx(statistics.median(ours["times"]))
    medians = [statistics.median(draw.add(who, *x["times"])) for who, x in (("ours", ours), ("theirs", theirs))]
    draw.hold("ours − theirs, s", medians[0] - medians[1], low=-0.004, high=0.004)
    assert len(ours["times"]) == len(ours["memory_usage_byte"]) == 20 and ours["exit_codes"] == [0] * 20


def test_runs_warmup_prepare_conclude_setup_and_cleanup(tool):
    log = tool.tmp / "log"

    def say(word):
        return f"echo {word} >> {log}"

    r = tool("bench", "--runs", 2, "-w", 1, "--setup", say("setup"), "--prepare", say("prepare"), "--conclude",
             say("conclude"), "--cleanup", say("cleanup"), "-c", say("run"))
    assert r.returncode == 0, r.stderr
    assert log.read_text().split() == ["setup"] + ["prepare", "run", "conclude"] * 3 + ["cleanup"]


# Appends how many pages of a file are in memory to a log, then reads the file.
LOOKS_AND_READS = """
import ctypes, os, sys
data, log = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
size, page = os.path.getsize(data), os.sysconf("SC_PAGESIZE")
fd = os.open(data, os.O_RDONLY)
at = libc.mmap(None, size, 1, 1, fd, 0)
pages = ctypes.create_string_buffer(size // page)
assert libc.mincore(at, size, pages) == 0
with open(log, "a") as f:
    print(sum(b & 1 for b in pages.raw[:size // page]) * page, file=f)
while os.read(fd, 1 << 20):
    pass
"""
SIZE = 8 << 20


@pytest.fixture
def looks_and_reads(tool):
    """A command whose file is on a disk, and not all of it written there yet; the log says how many bytes were in memory."""
    if subprocess.run(["stat", "-f", "-c", "%T", tool.tmp], capture_output=True, text=True, check=True).stdout.strip() in ("tmpfs", "ramfs"):
        pytest.skip("the folder for tests is in memory")
    script, data, log = tool.tmp / "looks.py", tool.tmp / "data", tool.tmp / "log"
    script.write_text(LOOKS_AND_READS)
    data.write_bytes(os.urandom(SIZE))
    return [sys.executable, script, data, log], log


@pytest.mark.parametrize("shell", [False, True])
def test_cold_runs_find_nothing_in_memory(tool, looks_and_reads, shell):
    """Also where a child of the command opens the file; the run that shows which files these are does not count."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    command, log = looks_and_reads
    words = ["-c", " ".join(map(str, [*command, "; true"]))] if shell else ["--", *command]
    ours = tool.tmp / "ours.json"
    r = tool("bench", "--cold", "--runs", 3, "--export-json", ours, *words)
    assert r.returncode == 0, r.stderr
    first, *counted = map(int, log.read_text().split())
    assert first > SIZE / 2 and len(counted) == 3 and max(counted) < SIZE / 100, log.read_text()
    told = re.search(r"^  cold: (\d+) files evicted from the page cache before each run \((\S+) MiB[;)]", r.stdout, re.M)
    assert told and int(told[1]) > 5 and float(told[2]) >= SIZE / 2**20, r.stdout
    assert len(json.loads(ours.read_text())["results"][0]["times"]) == 3


@pytest.mark.parametrize("args, runs", [(["--warm"], 4), (["--warm", "-w", "2"], 5)])
def test_warm_runs_find_all_in_memory(tool, looks_and_reads, args, runs):
    command, log = looks_and_reads
    r = tool("bench", *args, "--runs", 3, "--", *command)
    assert r.returncode == 0 and f"  warm: {runs - 3} run" in r.stdout, r.stderr
    found = list(map(int, log.read_text().split()))
    assert len(found) == runs and min(found[-3:]) > SIZE * 0.99


def test_cold_without_the_right_to_names_it(tool):
    words = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"] if os.geteuid() == 0 else []
    log = tool.tmp / "log"
    r = subprocess.run([*words, tool.binary, "bench", "--cold", "--setup", f"echo ran >> {log}", "--", "touch", log], capture_output=True, text=True)
    assert r.returncode == 4 and "root (CAP_SYS_ADMIN); without root: --prepare" in r.stderr, r.stderr
    assert not log.exists()


def test_parameters_stand_for_their_values_everywhere(tool):
    """All combinations, the first list fastest, as hyperfine makes them; set-up and clean-up around each."""
    log, ours, theirs = tool.tmp / "log", tool.tmp / "ours.json", tool.tmp / "theirs.json"
    words = ["--runs", "2", "-L", "a", "1,2", "-L", "b", "x,y", "--setup", f"echo setup {{a}} >> {log}", "--prepare",
             f"echo prepare {{b}} >> {log}", "--cleanup", f"echo cleanup {{a}}{{b}} >> {log}", "--export-json"]
    r = tool("bench", *words, ours, "--export", "csv", "-c", "echo {a} {b}")
    assert r.returncode == 0, r.stderr
    said = log.read_text()
    assert said.startswith("setup 1\nprepare x\nprepare x\ncleanup 1x\nsetup 2\n") and said.count("setup") == 4
    rows = list(csv.DictReader(io.StringIO(r.stdout)))
    assert [(x["parameter_a"], x["parameter_b"]) for x in rows] == [("1", "x"), ("2", "x"), ("1", "y"), ("2", "y")]
    subprocess.run(["hyperfine", *words, theirs, "echo {a} {b}"], check=True, capture_output=True)
    ours, theirs = (json.loads(f.read_text())["results"] for f in (ours, theirs))
    assert [(x["command"], x["parameters"]) for x in ours] == [(x["command"], x["parameters"]) for x in theirs]


def test_a_range_of_numbers_is_a_parameter_too(tool):
    out = tool.tmp / "o.json"
    r = tool("bench", "-r", 1, "-P", "t", "0.01", "0.03", "-D", "0.01", "--export-json", out, "--", "sleep", "{t}")
    assert r.returncode == 0, r.stderr
    results = json.loads(out.read_text())["results"]
    assert [x["parameters"] for x in results] == [{"t": "0.01"}, {"t": "0.02"}, {"t": "0.03"}]
    assert all(x["min"] >= float(x["parameters"]["t"]) and len(x["times"]) == 1 for x in results)
    r = tool("bench", "--runs", 1, "-L", "n", "3,4", "-c", "true")
    assert "true (n = 3)" in r.stdout and "true (n = 4)" in r.stdout


def exponent(text):
    """The exponent and its interval, as `bench --scan` prints them."""
    found = re.search(r"time ~ \w+\^([\d.-]+), 95 % between ([\d.-]+) and ([\d.-]+)", text)
    return tuple(map(float, found.groups()))


def test_a_scan_finds_how_the_time_grows(draw, tool):
    """CPU time of planted growths: a sum is linear, two loops are quadratic, a look into a dict is neither. No numbers are made on the way:
    those up to 256 are there already, so that counting to few costs less each and a loop over range(n) grows faster than n."""
    (tool.tmp / "mine.py").write_text("from itertools import repeat\ndef pairs(n):\n    for i in repeat(0, n):\n        for j in repeat(0, n):\n            pass\n")
    r = tool("bench", "-p", "--time", 1, "--scan", "n=1k..100k", "-s", "x = [1] * n", "sum(x)", cwd=tool.tmp)
    assert r.returncode == 0 and r.stdout.count("\n") >= 9, r.stderr
    k, low, high = exponent(r.stdout)
    assert low <= k <= high
    draw.median("sum", k, low=0.9, high=1.1)
    k, _, _ = exponent(tool("bench", "-p", "--time", 1, "--scan", "n=50..1000", "mine:pairs", cwd=tool.tmp).stdout)
    draw.median("pairs", k, low=1.8, high=2.2)
    k, _, _ = exponent(tool("bench", "-p", "--time", 1, "--scan", "m=1k..100k", "-s", "d = dict.fromkeys(range(m))", "7 in d").stdout)
    draw.median("look-up", k, low=-0.2, high=0.2)


def test_a_scan_of_a_command_and_what_would_take_too_long(draw, tool):
    r = tool("bench", "--time", 1, "--scan", "ms=20,40,80,160", "--runs", 2, "-N", "-c",
             "sh -c 'sleep $(printf 0.%03d {ms})'")
    assert r.returncode == 0, r.stderr
    draw.median("sleep", exponent(r.stdout)[0], low=0.7, high=1.1)
    r = tool("bench", "--time", 0.5, "--scan", "n=10..10M", "-s", "import time", "time.sleep(n / 1000)")
    assert r.returncode == 0, r.stderr
    assert "stopped here: n = " in r.stdout and "10000000" not in r.stdout.split("stopped")[0]
    r = tool("bench", "--time", 0.2, "--scan", "n=1,2", "pass")
    assert "too few sizes" in r.stdout


@pytest.mark.parametrize("label", ["3.8", "3.13", "3.13t"])
def test_a_scale_tells_the_serial_share(draw, tool, label):
    """A lock held all the time lets one thread at a time through, in any build; more threads than CPUs are told."""
    python = require(label).command()[0]
    many = 2 * os.cpu_count()
    r = tool("bench", "--python", python, "--time", 0.5, "--processes", 2, "--scale", f"threads=1,2,{many}", "-s",
             "import builtins, threading, time\nlock = builtins.__dict__.setdefault('lock', threading.Lock())",
             "with lock:\n  time.sleep(0.001)")
    assert r.returncode == 0, r.stderr
    assert ("free-threaded" if label.endswith("t") else "with a GIL") in r.stdout
    assert f"\n{many:7} " in r.stdout and "more threads than CPUs" in r.stdout
    speedup = [float(line.split()[-3]) for line in r.stdout.splitlines()[2:4]]
    assert speedup[0] == 1
    draw.median("speedup", speedup[1], high=1.3)
    assert ("serial share" in r.stdout) == (os.cpu_count() > 1)


def test_what_waits_without_a_lock_scales(draw, tool):
    r = tool("bench", "--time", 2, "--scale", "threads=1,2", "-s", "import time", "time.sleep(0.005)")
    share = float(re.search(r"serial share (\d+) %", r.stdout).group(1))
    draw.median("serial share, %", share, high=20)


def test_a_command_that_fails_in_a_later_run_keeps_the_earlier_ones(tool):
    script = tool.tmp / "sometimes.sh"
    script.write_text(f"#!/bin/sh\necho x >> {tool.tmp}/n\n[ $(wc -l < {tool.tmp}/n) -lt 4 ] || {{ echo my words >&2; exit 3; }}\n")
    script.chmod(0o755)
    out = tool.tmp / "o.json"
    r = tool("bench", "--force", f"--json={out}", "--runs", 9, "--", script)
    assert r.returncode == 8
    assert "run 4 of" in r.stderr and "status 3" in r.stderr and "my words" in r.stderr and "-i measures" in r.stderr
    assert len(values(json.loads(out.read_text())["benchmarks"][0])) == 3
    r = tool("bench", "-i", "--runs", 3, "--", script)
    assert r.returncode == 0


@pytest.mark.parametrize("args, status, words", [
    (["sum(range("], 8, "was never closed" if sys.version_info >= (3, 10) else "SyntaxError"),
    (["-s", "import nosuchmodule", "pass"], 8, "nosuchmodule"),
    (["1/0"], 8, "ZeroDivisionError"),
    (["import os; os._exit(4)"], 8, "exited with status 4"),
    (["--", "/no/such/program"], 127, "command not found"),
    (["-N", "-c", "echo 'x"], 2, "quote"),
    (["--export", "xml", "pass"], 2, "there are csv, hyperfine"),
    (["-n", "0", "pass"], 2, "at least 1"),
    (["--pin", "4000", "pass"], 2, "CPUs that can be used here"),
    ([], 2, "nothing to time"),
    (["-L", "n"], 2, "-L expects a value: -L NAME VALUES"),
    (["-P", "n", "5", "1", "-c", "true"], 2, "the range is empty"),
    (["-P", "n", "a", "b", "-c", "true"], 2, "LOW and HIGH must be numbers"),
    (["-D", "2", "-c", "true"], 2, "-D needs -P"),
    (["-L", "n", "1", "-L", "n", "2", "-c", "true"], 2, "given twice"),
    (["--scan", "n=9..1", "pass"], 2, "rising numbers"),
    (["nosuch.py"], 5, "there is no such file"),
    (["/etc/passwd"], 2, "is a file, not a statement"),
    (["cat x.py"], 8, "leadline bench -- cat x.py"),
    (["ls"], 8, "leadline bench -- ls"),
    (["--history", "/dev/null", "pass"], 2, "not a folder"),
    (["--scale", "threads=2,4", "pass"], 2, "beginning with 1"),
    (["--scale", "threads=1,2", "-c", "true"], 2, "leave out -c"),
    (["--scale", "threads=1,2", "--", "true"], 2, "not commands"),
    (["--scale", "threads=1,2", "--time", "0.1", "1/0"], 8, "ZeroDivisionError"),
    (["--python", "/no/python", "pass"], 127, "/no/python"),
    (["--cold", "--warm", "--", "true"], 2, "--cold and --warm cannot be combined"),
    (["--cold", "pass"], 2, "leadline bench --cold -- python3 -c"),
    (["--warm", "os:getpid"], 2, "leadline bench --warm -- python3 -c"),
    (["--warm", "--count", "--", "true"], 2, "--warm does not apply to --count"),
])
def test_bad_input_gets_a_line_and_a_status(tool, args, status, words):
    r = tool("bench", *args)
    assert r.returncode == status, r.stderr
    assert words in r.stderr
    assert "leadline: bench: " in r.stderr


def test_the_shell_is_not_in_the_time_and_words_are_split_without_it(tool):
    r = tool("bench", "--runs", 3, "-N", "--show-output", "-c", "printf '%s|' \"a b\" c\\ d ''")
    assert r.returncode == 0 and r.stdout.startswith("a b|c d||" * 3)


def test_ctrl_c_keeps_what_there_is(tool):
    p = subprocess.Popen([tool.binary, "bench", "--runs", "100000", "--export", "csv", "-c", f"sleep 0.02; echo x >> {tool.tmp}/n"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    n = tool.tmp / "n"
    deadline = time.monotonic() + 30
    while not (n.exists() and n.stat().st_size > 20):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    p.send_signal(2)
    out, err = p.communicate(timeout=30)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert p.returncode == 0, err
    assert len(rows) == 1 and float(rows[0]["mean"]) > 0


def test_several_statements_make_a_table(tool):
    r = tool("bench", "--processes", 2, "--time", 0.1, "-s", "x = list(range(10))", "sum(x)", "max(x)")
    assert r.returncode == 0
    table = r.stdout[r.stdout.index("× fastest"):]
    assert "sum(x)" in table and "max(x)" in table and "1.00" in table


def test_csv_and_markdown(tool):
    r = tool("bench", "--runs", 2, "--export", "csv", "-c", "echo 'a,b'")
    (row,) = csv.DictReader(io.StringIO(r.stdout))
    assert row["command"] == "echo 'a,b'" and float(row["min"]) <= float(row["mean"]) <= float(row["max"])
    r = tool("bench", "--runs", 2, "--export", "markdown", "-c", "true | true", "-c", "true")
    assert r.stdout.startswith("| Command | Mean [") and "`true \\| true`" in r.stdout and r.stdout.count("\n") == 4


def test_pyperf_reads_our_json(tool):
    """show, stats, check and compare_to of the real pyperf."""
    pyperf = pytest.importorskip("pyperf")
    for name, stmt in (("a", "sum(range(100))"), ("b", "sum(range(200))")):
        r = tool("bench", "--force", f"--json={tool.tmp}/{name}.json", "--processes", 3, "--time", 0.2, stmt)
        assert r.returncode == 0
        suite = pyperf.BenchmarkSuite.load(str(tool.tmp / f"{name}.json"))
        (b,) = suite.get_benchmarks()
        assert b.get_name() == stmt and b.get_nrun() == 3 and b.get_unit() == "second"
        assert b.mean() == pytest.approx(statistics.mean(b.get_values()))
    for command in ("show", "stats", "hist", "metadata"):
        out = subprocess.run([sys.executable, "-m", "pyperf", command, tool.tmp / "a.json"], capture_output=True, text=True)
        assert out.returncode == 0, out.stderr


def test_pytest_benchmark_compares_our_json(tool):
    pytest.importorskip("pytest_benchmark")
    folder = tool.tmp / ".benchmarks" / "Linux-CPython-3.11-64bit"
    folder.mkdir(parents=True)
    for name in ("0001_a", "0002_b"):
        r = tool("bench", "--export", f"pytest-benchmark={folder / name}.json", "--processes", 2, "--time", 0.1, "sum(range(100))")
        assert r.returncode == 0, r.stderr
    out = subprocess.run([os.path.join(os.path.dirname(sys.executable), "pytest-benchmark"), "--storage", tool.tmp / ".benchmarks", "compare"],
                         capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
    assert out.returncode == 0, out.stderr
    assert "sum(range(100))" in out.stdout


def loops(n):
    return f"for i in range({n}): pass"


@pytest.mark.parametrize("b, limit, status, words", [
    (1100, "3%", 1, "failed: +10.0 % bytecodes, up to 3 % more is allowed"), (1100, "12.5%", 0, "passed: +10.0 % bytecodes, up to 12.5 % more is allowed"),
    (1000, "0%", 0, "passed: +0.0 % bytecodes"), (900, "3%", 0, "passed: −10.0 % bytecodes")])
def test_counts_are_a_gate(tool, b, limit, status, words):
    r = tool("compare", "--count", "--fail-if-slower", limit, loops(1000), loops(b))
    assert r.returncode == status and words in r.stdout, r.stdout + r.stderr
    r = tool("compare", "--count", "--fail-if-slower", limit, "--json", loops(1000), loops(b))
    gate = json.loads(r.stdout)["gate"]
    assert r.returncode == status and gate["outcome"] == ("failed" if status else "passed") and gate["count"] == "bytecodes"
    assert gate["change_share"] == pytest.approx(b / 1000 - 1, abs=0.005)
    r = tool("compare", "--count", "--json", loops(1000), loops(b))
    assert r.returncode == 0 and "gate" not in json.loads(r.stdout)


# ---- compare


def compare(tool, *args, **kwargs):
    out = tool.tmp / "compare.json"
    out.unlink(missing_ok=True)
    r = tool("compare", f"--json={out}", *args, **kwargs)
    return r, json.loads(out.read_text()) if out.exists() else None


def test_what_takes_longer_is_slower(draw, tool):
    r, v = compare(tool, "--time", 20, "-c", "sleep 0.02", "-c", "sleep 0.05")
    assert r.returncode == 0, r.stderr
    draw.verdict("verdict", v["verdict"], "slower")
    assert v["low"] <= v["ratio"] <= v["high"] and v["blocks"] == len(v["times"])
    draw.median("low", v["low"], low=1)
    draw.median("B wins", v["b_wins"], high=1)
    draw.median("blocks", v["blocks"], low=10)
    draw.median("control's low", v["control"]["low"], high=1.2)
    draw.median("control's high", v["control"]["high"], low=0.8)
    assert ("B is slower than A" in r.stdout) == (v["verdict"] == "slower") and "control: A against itself" in r.stdout


def test_statements_and_two_interpreters(draw, tool):
    r, v = compare(tool, "--time", 30, "-s", "x = list(range(3000))", "sum(x)", "sum(x[:30])")
    draw.verdict("verdict", v["verdict"], "faster")
    draw.median("high", v["high"], high=0.5)
    r, v = compare(tool, "--blocks", 2, "--python", sys.executable, "--python", sys.executable, "sum(range(10))")
    assert r.returncode == 0 and v["blocks"] == 2 and v["verdict"] == "undecided"
    assert sys.executable in v["a"]


def test_a_gate_decides_the_exit_status(draw, tool):
    slow, fast = ("-c", "sleep 0.04"), ("-c", "sleep 0.02")
    for what, right, pair in (("slower", 1, [*fast, *slow]), ("faster", 0, [*slow, *fast])):
        r, _ = compare(tool, "--time", 20, "--rounds", 2, "--fail-if-slower", "3%", *pair)
        assert r.returncode in (right, 3), r.stderr  # 3: undecided
        draw.verdict(f"status of what is {what}", r.returncode, right)


def test_undecided_is_a_status_of_its_own(tool):
    r, v = compare(tool, "--blocks", 3, "--fail-if-slower", "3%", "-c", "true", "-c", "true")
    assert r.returncode == 3 and v["verdict"] == "undecided" and v["reason"] == "too few blocks"
    assert "more blocks would decide it" in r.stdout
    r, v = compare(tool, "--blocks", 3, "-c", "true", "-c", "true")
    assert r.returncode == 0


def test_short_commands_run_in_rounds_and_the_least_counts(tool):
    """A is slow in every second run only: the least of four never is."""
    log = tool.tmp / "log"
    slow = f"echo x >> {log}; [ $(( $(wc -l < {log}) % 2 )) = 0 ] || sleep 0.2"
    r, v = compare(tool, "--blocks", 2, "--rounds", 4, "--no-control", "-c", slow, "-c", "true")
    assert v["rounds"] == 4 and "a block is 4 runs of each; the fastest counts" in r.stdout and all(t[0] < 0.15 for t in v["times"])
    assert len(log.read_text().split()) == 1 + 2 * 4  # and one before, uncounted
    assert compare(tool, "--blocks", 1, "-c", "true", "-c", "true")[1]["rounds"] > 1
    assert compare(tool, "--blocks", 1, "-c", "true", "-c", "sleep 0.6")[1]["rounds"] == 1
    assert tool("compare", "--rounds", 1001, "pass", "pass").returncode == 2


def test_without_a_control(tool):
    r, v = compare(tool, "--blocks", 2, "--no-control", "-c", "true", "-c", "true")
    assert v["control"] is None and "control" not in r.stdout and all(t[2] is None for t in v["times"])


def test_markdown_for_a_pull_request(tool):
    r, _ = compare(tool, "--blocks", 2, "--format", "github", "-c", "true | true", "-c", "true")
    assert r.stdout.startswith("### ") and "\\|" in r.stdout and "B/A **" in r.stdout


COUNTED = ["-s", "x = list(range(10))\ndef f(n):\n  return n + 1", "[f(i) for i in x]"]


@pytest.mark.parametrize("label", ["3.8", "3.11", "3.13"])
def test_counts_are_exact_and_the_same_each_time(tool, label):
    """Ten calls of f in a loop, one line each, as many bytecodes as dis shows in it."""
    python = require(label).command()[0]
    r = tool("bench", "--count", "--json", "--python", python, *COUNTED)
    assert r.returncode == 0, r.stderr
    counted = json.loads(r.stdout)["a"]
    (f,) = [x for x in counted["functions"] if x["name"].endswith("f")]
    dis = "import dis\ndef f(n):\n  return n + 1\nprint(len([i for i in dis.get_instructions(f) if i.opname != 'CACHE']))"
    expected = int(subprocess.run([python, "-c", dis], capture_output=True, text=True, check=True).stdout)
    assert (f["calls"], f["lines"], f["bytecodes"]) == (10, 10, 10 * expected)
    assert counted["allocations"] is None and counted["unit"] == "loop"
    again = json.loads(tool("bench", "--count", "--json", "--python", python, *COUNTED).stdout)["a"]
    assert again["functions"] == counted["functions"] and again["bytecodes"] == counted["bytecodes"]


def test_instructions_follow_the_work(tool):
    """Ten times the work is ten times the instructions, whichever way they were counted."""
    python = require("3.13").command()[0]
    counts = []
    for n in 2000, 20000:
        r = tool("bench", "--count=instructions", "--json", "--python", python, f"sum(range(9999, 9999 + {n}))", timeout=300)  # callgrind takes its time
        assert r.returncode == 0, r.stderr
        counted = json.loads(r.stdout)["a"]
        assert counted["instructions_by"] in ("perf", "callgrind"), r.stdout
        counts.append(counted["instructions"])
    assert 20000 < counts[0] and 9.5 < counts[1] / counts[0] < 10.5, counts


def test_counts_are_compared_function_by_function(tool):
    r = tool("compare", "--count", *COUNTED, "list(map(f, x))")
    assert r.returncode == 0, r.stderr
    by_function = r.stdout.split("What B does more than A")[1]
    assert ".f " not in by_function and "inner" in by_function  # f does the same in both
    r = tool("compare", "--count", *COUNTED[:2], "f(1)", "f(1) + 0 * f(2)")
    assert re.search(r"^ *\+\d+ +\+1 +\+1 +inner.<locals>.f ", r.stdout, re.MULTILINE), r.stdout
    r = tool("compare", "--count", "sum([1])", "sum([1])  # again")
    assert "no function differs" in r.stdout
    r = tool("bench", "--count", "1/0")
    assert r.returncode == 8 and "ZeroDivisionError" in r.stderr
    r = tool("bench", "--count", "--", "/bin/true")
    assert r.returncode == 8 and "it ran no Python" in r.stderr
    r = tool("bench", "--count=cycles", "pass")
    assert r.returncode == 2 and "not 'cycles'" in r.stderr


def test_a_history_finds_the_commit_that_made_it_slower(tool):
    """One run is real; the commits before it are planted: each run twice, 0.2 % apart, twice as slow from c3 on."""
    folder = tool.tmp / "history"
    r = tool("bench", "--history", folder, "--processes", 2, "--time", 0.1, "pass", cwd=tool.tmp)
    assert r.returncode == 0 and "1 commit, 1 run" in r.stdout and "no verdict yet" in r.stdout, r.stderr
    (first,) = folder.iterdir()
    result = json.loads(first.read_text())
    first.unlink()
    for c in range(6):
        for k in range(2):
            factor = (2 if c >= 3 else 1) * (1 + 0.002 * k)
            one = json.loads(json.dumps(result))
            one["metadata"].update(commit_id=f"c{c}", date=f"2020-01-0{c + 1} 00:00:0{k}.000000")
            for run in one["benchmarks"][0]["runs"]:
                run["values"] = [1e-3 * factor] * len(run["values"])
                run.pop("warmups", None)
            (folder / f"{c}{k}.json").write_text(json.dumps(one))
    (folder / "other.json").write_text('{"benchmarks": [')
    r = tool("bench", "--history", folder, "--processes", 2, "--time", 0.1, "pass", cwd=tool.tmp)
    assert r.returncode == 0, r.stderr
    history = r.stdout.split("History of pass")[1]
    assert history.startswith(": 7 commits, 13 runs") and "learned from 6 repetitions" in history
    slower = [line for line in history.splitlines() if "slower by" in line]
    assert len(slower) == 1 and slower[0].startswith("c3 ") and "slower by 100.0 %" in slower[0]
    assert len(list(folder.iterdir())) == 14


@pytest.mark.parametrize("args, status, words", [
    (["-c", "echo 1; echo 2", "-c", "printf '1\\n2\\n'"], 0, ""),
    (["-c", "echo 1; echo 2", "-c", "echo 1; echo 3"], 8, "different outputs, first in line 2: '2' against '3'"),
    (["-c", "echo 1", "-c", "exit 3"], 8, "exited with status 3"),
    (["sum([1, 2])", "1 + 2"], 0, ""),
    (["set('abc')", "set('abc')  # again"], 0, ""),
    (["list(range(1000))", "list(range(999)) + [0]"], 8, "different outputs"),
    (["x = 1", "1"], 2, "has no result to compare"),
    (["object()", "object()"], 2, "has no result to compare"),
])
def test_the_same_output_is_asked_for(tool, args, status, words):
    r = tool("compare", "--same-output", "--blocks", 2, "--no-control", *args)
    assert r.returncode == status and words in r.stderr, r.stderr
    assert ("B/A" in r.stdout) == (status == 0)


def stored(tool, name, *args):
    """Results in a recording, and the same as pyperf's JSON."""
    lead, out = tool.tmp / f"{name}.lead", tool.tmp / f"{name}.json"
    r = tool("bench", "--force", "-o", lead, f"--json={out}", "--processes", 5, "--time", 0.2, *args)
    assert r.returncode == 0, r.stderr
    return lead, out


def test_a_recording_keeps_all_that_was_measured(tool):
    lead, out = stored(tool, "a", "-s", "x = range(100)", "sum(x)", "(i for i in x)")
    r = tool("report", lead)
    assert r.returncode == 0 and "the result is a generator" in r.stdout and "5 processes" in r.stdout, r.stderr
    ours, theirs = json.loads(tool("export", lead, "--format", "pyperf").stdout), json.loads(out.read_text())
    for x, y in zip(ours["benchmarks"], theirs["benchmarks"]):
        assert x["metadata"]["name"] == y["metadata"]["name"]
        assert [run["metadata"]["loops"] for run in x["runs"]] == [run["metadata"]["loops"] for run in y["runs"]]
        assert values(x) == pytest.approx(values(y), rel=1e-12)
    hyperfine = json.loads(tool("export", lead, "--format", "hyperfine").stdout)["results"]
    assert [x["command"] for x in hyperfine] == ["sum(x)", "(i for i in x)"]
    assert "`sum(x)`" in tool("export", out, "--format", "markdown").stdout
    r = tool("export", lead, "--format", "pprof")
    assert r.returncode == 2 and "csv, hyperfine" in r.stderr
    r = tool("bench", "--force", "--runs", 2, "-L", "n", "1,2", "-o", lead, "-c", "echo {n}")
    assert [x["parameters"] for x in json.loads(tool("export", lead, "--format", "hyperfine").stdout)["results"]] == [
        {"n": "1"}, {"n": "2"}]


def test_stored_results_are_compared(draw, tool):
    setup = ["-s", "import time"]
    (a, a_json), (b, b_json) = (stored(tool, n, *setup, f"time.sleep({s})  # step") for n, s in (("a", 0.004), ("b", 0.008)))
    one, two = json.loads(a_json.read_text()), json.loads(b_json.read_text())
    for x in (one, two):
        x["benchmarks"][0]["metadata"]["name"] = "step"
    a_json.write_text(json.dumps(one))
    b_json.write_text(json.dumps(two))
    r = tool("compare", a_json, b_json, "--fail-if-slower", "3%")
    assert r.returncode in (1, 3) and ("step: B is slower than A" in r.stdout) == (r.returncode == 1) and "5 and 5 processes" in r.stdout, r.stdout
    draw.verdict("status", r.returncode, 1)
    draw.verdict("status of the other way round", tool("compare", b_json, a_json, "--fail-if-slower", "3%").returncode, 0)
    r = tool("compare", a, b)
    assert r.returncode == 2 and "the files share no benchmark" in r.stderr and "--force" in r.stderr
    (r,) = json.loads(tool("compare", "--force", "--json", a, b).stdout)["results"]
    draw.verdict("forced", r["verdict"], "slower")
    draw.median("ratio", r["ratio"], low=1.5)
    draw.verdict("in the table", "| **slower** |" in tool("compare", "--format", "github", a_json, b_json).stdout, True)


def test_results_of_unlike_machines_are_undecided(tool):
    _, a = stored(tool, "a", "pass")
    other = json.loads(a.read_text())
    other["metadata"].update(cpu_model_name="Another CPU", python_version="3.99.0", cpu_config="governor:powersave")
    for run in other["benchmarks"][0]["runs"]:
        run["values"] = [30 * v for v in run["values"]]
    b = tool.tmp / "b.json"
    b.write_text(json.dumps(other))
    r = tool("compare", a, b, "--fail-if-slower", "3%")
    assert r.returncode == 3 and "undecided: measured under different conditions" in r.stdout
    assert "CPU: " in r.stdout and "against Another CPU" in r.stdout and "3.99.0" in r.stdout and "--force judges" in r.stdout
    r = tool("compare", a, b, "--fail-if-slower", "3%", "--force")
    assert r.returncode == 1 and "B is slower" in r.stdout and "Another CPU" in r.stdout


@pytest.mark.parametrize("args, words", [
    (["pass", "b.json"], "compare it with another results file"),
    (["--unit", "step", "pass", "pass"], "--unit needs two recordings"),
    (["b.json", "c.json"], "c.json"),
    (["--unit", "step", "a.lead", "a.lead"], "0 steps or regions 'step'"),
])
def test_stored_files_that_cannot_be_compared(tool, args, words):
    stored(tool, "a", "pass")
    stored(tool, "b", "pass")
    (tool.tmp / "c.json").write_text("{}")
    r = tool("compare", *args, cwd=tool.tmp)
    assert r.returncode in (2, 6) and words in r.stderr, r.stderr


def test_steps_of_two_recordings_are_compared(draw, tool):
    """Steps that a program has marked as regions; planted: B sleeps twice as long in each."""
    for name, seconds in (("a", 0.004), ("b", 0.008)):
        script = tool.tmp / f"{name}.py"
        script.write_text("import time, leadline\nfor _ in range(40):\n    with leadline.region('step'):\n"
                          f"        time.sleep({seconds})\n")
        r = tool("run", "-o", tool.tmp / f"{name}.lead", script)
        assert r.returncode == 0, r.stderr
    r = tool("compare", "--unit", "step", "a.lead", "b.lead", cwd=tool.tmp)
    assert r.returncode == 0 and "drawn in blocks of" in r.stdout, r.stdout + r.stderr
    draw.verdict("slower", "step: B is slower than A" in r.stdout, True)
    r = tool("compare", "--unit", "epoch", "a.lead", "b.lead", cwd=tool.tmp)
    assert r.returncode == 2 and "0 regions 'epoch'" in r.stderr and "such as 'step'" in r.stderr


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=folder, check=True, capture_output=True)


def test_two_revisions_run_in_checkouts_of_their_own(tool):
    repository = tool.tmp / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    for i, text in enumerate(("one", "two")):
        (repository / "f").write_text(text)
        git(repository, "add", "f")
        git(repository, "commit", "-qm", text)
        git(repository, "tag", f"v{i + 1}")
    (repository / "f").write_text("not committed")
    log = tool.tmp / "log"
    r, v = compare(tool, "--blocks", 2, "--rounds", 1, "--rev", "v1", "--rev", "v2", "--build", "cp f built", f"cat built >> {log}",
                   cwd=repository)
    assert r.returncode == 0, r.stderr
    # Each once to warm up, then A, B and A again in two blocks.
    assert log.read_text().count("one") == 1 + 4 and log.read_text().count("two") == 1 + 2
    assert (repository / "f").read_text() == "not committed"
    assert subprocess.run(["git", "worktree", "list"], cwd=repository, capture_output=True, text=True).stdout.count("\n") == 1
    r, _ = compare(tool, "--rev", "v1", "--rev", "nosuch", "true", cwd=repository)
    assert r.returncode == 2 and "nosuch" in r.stderr
    r, _ = compare(tool, "--rev", "v1", "--rev", "v2", "--build", "echo why >&2; exit 9", "true", cwd=repository)
    assert r.returncode == 8 and "why" in r.stderr and "status 9" in r.stderr


@pytest.mark.parametrize("args, status, words", [
    (["pass"], 2, "compare takes two things, not 1"),
    (["-c", "true"], 2, "compare takes two things"),
    (["-c", "true", "-c", "false"], 8, "'false' exited with status 1"),
    (["1/0", "pass"], 8, "A: the statement failed"),
    (["pass", "1/0"], 8, "B: the statement failed"),
    (["--fail-if-slower", "much", "a", "b"], 2, "expects a percentage"),
    (["--rev", "x", "true"], 2, "given twice"),
])
def test_bad_comparisons_get_a_line_and_a_status(tool, args, status, words):
    r = tool("compare", *args)
    assert r.returncode == status and words in r.stderr, r.stderr


SCRIPT = """
def parse(n):
    s = 0
    for i in range(n):
        s += i * i % 7
    return s
def load(n):
    return [str(i) for i in range(n)]
for _ in range(10):
    parse(COUNT); load(20000)
"""


@pytest.mark.parametrize("how", ["commands", "statements"])
def test_a_difference_is_found_in_its_function(draw, tool, how):
    for name, n in (("old", 120000), ("new", 40000)):
        (tool.tmp / f"{name}.py").write_text(SCRIPT.replace("COUNT", str(n)))
    both = {"commands": ["-c", f"{sys.executable} old.py", "-c", f"{sys.executable} new.py"],
            "statements": ["-s", SCRIPT.partition("for _")[0], "parse(60000); load(10000)", "parse(20000); load(10000)"]}[how]
    r, v = compare(tool, "--blocks", 2, "--explain=why", *both, cwd=tool.tmp)
    assert r.returncode == 0 and v["blocks"] == len(v["times"]) == 2, r.stderr
    first, *others = v["explained"]
    draw.verdict("first function", first["name"].rpartition(".")[2], "parse")
    draw.median("its change, at most", first["change_share"] + first["plus_minus_share"], high=0)
    draw.median("ratio", v["ratio"], high=1)
    draw.median("largest other", max([abs(f["change_share"]) for f in others], default=0) / abs(first["change_share"]), high=0.5)
    sign = "−" if first["change_share"] < 0 else "+"
    assert f", not proven, of which, by self time of each function\n    {sign}" in r.stdout and (tool.tmp / "why.a.lead").exists() and (tool.tmp / "why.b.lead").exists()


def points(text):
    """What is told of the difference, and what its parts are, in tenths of a point."""
    lines = text.splitlines()
    (at,) = [i for i, line in enumerate(lines) if "of which, by self time of each function" in line]
    parts = []
    for line in lines[at + 1:]:
        if not re.match(r"    [−+][\d.]+ ", line):
            break
        parts.append(line)
    numbers = [re.match(r" +([−+][\d.]+)", line).group(1).replace("−", "-") for line in (lines[at], *parts)]
    whole, *each = [round(10 * float(n)) for n in numbers]
    return whole, each, parts


def test_points_add_up_to_the_difference(tool):
    """With one function in A that two of B may be: its time counts once. What is not told by name is a row, too."""
    for name, files in (("old", ["x"]), ("new", ["y", "z"])):
        (tool.tmp / name).mkdir()
        for file in files:
            (tool.tmp / name / f"{file}.py").write_text("def work(n):\n    s = 0\n    for i in range(n):\n        s += i * i % 7\n")
        calls = "; ".join(f"{file}.work(300000)" for file in files)
        (tool.tmp / name / "main.py").write_text(f"import {', '.join(files)}\nfor _ in range(4):\n    {calls}\n")
    r, v = compare(tool, "--blocks", 2, "--explain", "-c", f"{sys.executable} old/main.py", "-c", f"{sys.executable} new/main.py", cwd=tool.tmp)
    assert r.returncode == 0 and v["explained"], r.stderr
    whole, each, parts = points(r.stdout)
    assert whole == sum(each) and parts[-1].endswith("everything else"), r.stdout
    assert sum(f["change_share"] for f in v["explained"]) + v["explained_rest_share"] == pytest.approx(v["ratio"] - 1)
    lost = [f["change_share"] for f in v["explained"] if f["name"] == "work" and f["file"].endswith("x.py")]
    gained = [f["change_share"] for f in v["explained"] if f["name"] == "work" and not f["file"].endswith("x.py")]
    assert len(lost) == 1 and len(gained) == 2 and lost[0] < 0 < min(gained), v["explained"]


@pytest.mark.parametrize("times, words", [
    ([[1, 130 + i, 1] for i in range(12)], "B is slower than A: B takes 13\\d × as long\n"),
    ([[130 + i, 1, 130 + i] for i in range(12)], "B is faster than A: A takes 13\\d × as long\n"),
    ([[1, 5 + i / 10, 1] for i in range(12)], "B is slower than A: 45\\d % more time\n"),
    ([[1, 130, 1]], "(?s)undecided: too few blocks.*about 9 more blocks would decide it"),
    ([[1, 130, 1], [1, 131, 1.1]], "(?s)undecided: too few blocks.*about \\d more blocks would decide it"),
    ([[1, 9.2 ** (i % 2 * 2 - 1), 1] for i in range(12)], "(?s)undecided.*these 12 blocks can detect: \\d+ (%|× the time)"),
    ([[1, 1e-6 * (1 + i / 100), 1] for i in range(12)], "B/A 0\\.00000\\d{3}, 95 % between 0\\.00000\\d+ and 0\\.00000\\d+;"),
])
def test_large_differences_are_told_plainly(tool, times, words):
    """Neither as powers of ten, nor as an interval without end, nor as what no further block could decide."""
    r = tool("compare", "--judge", "-", input=json.dumps({"times": times}))
    assert r.returncode == 0 and re.search(words, r.stdout), r.stdout
    for how in ("text", "markdown"):
        text = tool("compare", "--judge", "-", "--format", how, input=json.dumps({"times": times})).stdout
        assert not re.search(r"\de[+-]\d|\binf\b|\bnan\b|no number of further blocks", text), text


def test_what_cannot_be_explained_is_decided_all_the_same(tool):
    (tool.tmp / "there.a.lead").write_text("")
    r, v = compare(tool, "--blocks", 2, "--explain=there", "-c", "true", "-c", "true", cwd=tool.tmp)
    assert r.returncode == 0 and "--explain" in r.stderr and "there.a.lead" in r.stderr and v["blocks"] == 2 and v["explained"] is None
    folder = tool.tmp / "tmp"
    folder.mkdir()
    r, v = compare(tool, "--blocks", 2, "--explain", "-c", "true", "-c", "true", env={**os.environ, "TMPDIR": str(folder)})
    assert r.returncode == 0 and "saw no Python" in r.stderr and not list(folder.iterdir())


def test_blocks_are_judged_again(tool):
    _, first = compare(tool, "--blocks", 12, "--equivalence", "2%", "-c", "true", "-c", "true")
    kept = (tool.tmp / "compare.json").rename(tool.tmp / "kept.json")
    _, again = compare(tool, "--equivalence", "2%", "--judge", kept)
    assert again == first and again["next_look"] == 15 and len(again["b_first"]) == 12
    r = tool("compare", "--judge", "-", "--fail-if-slower", "3%", input=json.dumps({"times": [[1, 1.1 + i / 1000] for i in range(20)], "a": "one"}))
    assert r.returncode == 1 and r.stdout.startswith("B is slower than A: 11 % more time\n  A  1.00 s  one\n  B  1.11 s  B\n")


@pytest.mark.parametrize("text, words", [
    ("", "byte 0"), ("[]", "no blocks of a comparison"), ("{}", "no blocks of a comparison"), ('{"times": [[1]]}', "a block is [A, B, A again or null]"),
    ('{"times": [[1, 2, 3, 4]]}', "a block is"), ('{"times": [[1, 0, 1]]}', "above 0"), ('{"times": [[1, -1, 1]]}', "above 0"), ('{"times": [[1, null, 1]]}', "a block is"),
    ('{"times": [[1, 1e999, 1]]}', "above 0"), ('{"times": [1]}', "a list of blocks"), ('{"times": [[1, 2]], "b_first": [1]}', "true or false"),
    ('{"times": [[1, 2]], "a": 1}', "a name is a string"), (json.dumps({"times": [[1, 1]] * 1001}), "too many blocks")])
def test_what_holds_no_blocks_is_not_judged(tool, text, words):
    r = tool("compare", "--judge", "-", input=text)
    assert r.returncode == 6 and words in r.stderr and r.stderr.startswith("leadline: compare: standard input: "), r.stderr


# ---- the Python package


@pytest.mark.parametrize("label", IN_PLACE)
def test_the_package_decides_between_two_functions(tool, label):
    """On a clock of its own, which only f, g and h move on: so the truth is known."""
    code = """
import html, random, leadline
now, draw = [0.0], random.Random(5)
def takes(seconds):
    def f():
        now[0] += seconds * (1 + draw.gauss(0, 0.001))
    f.__qualname__ = "takes <%g>" % seconds
    return f
r = leadline.compare(takes(1.0), takes(1.05), timer=lambda: now[0], time=1e9)
assert r.verdict == "slower" and r.reason is None and r.blocks == 10 and r.b_wins == 0, r
low, high = r.interval
assert 1.045 < low <= r.ratio <= high < 1.055 and 0.995 < r.control["low"] <= r.control["ratio"] <= r.control["high"] < 1.005
assert str(r).startswith("B is slower than A: ") and "takes <1.05>" in r.text and repr(r).startswith("<leadline.Comparison: B is slower")
assert html.escape("takes <1.05>") in r._repr_html_() and len(r.times) == 10 and r.json["elapsed_s"] >= 0
assert leadline.compare(takes(1.0), takes(0.9), timer=lambda: now[0], time=1e9, control=False).verdict == "faster"
r = leadline.compare(takes(1.0), takes(1.0), timer=lambda: now[0], blocks=30)
assert r.verdict == "equivalent" and r.blocks == 30 and r.more_blocks is None, r
r = leadline.compare(takes(1.0), takes(1.0), timer=lambda: now[0], blocks=3)
assert r.verdict == "undecided" and r.reason == "too few blocks" and r.more_blocks > 0 and "more blocks" in r.text
assert leadline.compare("x", "y", globals={"x": 1, "y": 2}, blocks=1).blocks == 1
try:
    leadline.compare("pass", "pass", timer=lambda: 0.0, blocks=1)
except leadline.Error as e:
    print("refused:", e)
"""
    r = subprocess.run(require(label).command("-c", code), capture_output=True, text=True,
                       env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "LEADLINE_BINARY": tool.binary})
    assert r.returncode == 0, r.stderr
    assert r.stdout.startswith("refused: they are too short")


@pytest.mark.parametrize("label", IN_PLACE)
def test_the_package_times_in_its_own_process(tool, label):
    code = r"""
import leadline, re, timeit
calls = []
def spin(n=300):
    return sum(range(n))
told = leadline.timeit("spin(n)", "n = 200", number=20, globals=globals(), repeat=9)
assert isinstance(told, leadline.Result) and (told.loops, told.repeat) == (20, 9)
assert float(told) == told.median == sorted(told.all_runs)[4] / 20
low, high = told.interval
assert (low, high) == (sorted(told.timings)[1], sorted(told.timings)[7])  # 2 * (1 + 9) / 2**9 = 3.9 %
assert re.fullmatch(r"[\d.]+ [mµn]?s per loop, 95 % interval [\d.]+ [mµn]?s … [\d.]+ [mµn]?s \(median of 9 batches of 20 loops\)", repr(told)), repr(told)
assert str(told) == repr(told)
few = leadline.timeit(spin, number=1, repeat=5)
assert few.interval is None and repr(few).endswith("per loop (median of 5 batches of 1 loop; an interval takes at least 6)"), repr(few)
assert leadline.timeit("x", "x = 1").loops >= 1000
assert [leadline._bench.median_rank(n) for n in (1, 5, 6, 8, 9, 12, 20, 5000)] == [None, None, 0, 0, 1, 2, 5, 2430]
ticks = iter(range(100))
assert float(leadline.timeit("pass", "pass", lambda: next(ticks), 4, repeat=6)) == 0.25  # the order of timeit.timeit's arguments
r = leadline.bench(lambda: calls.append(1), number=5, repeat=4)
assert len(calls) == 20 and (r.loops, r.repeat, len(r.all_runs), len(r.timings)) == (5, 4, 4, 4)
assert r.best <= r.median <= r.worst and r.best <= r.average <= r.worst and r.stdev >= 0
assert r.timings == [run / 5 for run in r.all_runs]
assert str(r).endswith("(mean ± std. dev. of 4 runs, 5 loops each)"), r
t = leadline.Timer("x += 1", "x = 0")
assert isinstance(t, timeit.Timer) and t.timeit(10) > 0 and len(t.repeat(2, 10)) == 2 and t.autorange()[0] > 1000
assert leadline.bench("y", globals={"y": 3}, number=2).loops == 2
seen = []
def slow_once():
    if not seen:
        seen.append(__import__("time").sleep(0.25))
assert leadline.bench(slow_once, repeat=1).loops > 1000
del seen[:]
import leadline._compare
assert leadline._compare._Side(slow_once, "pass", __import__("time").perf_counter, None).loops > 100
try:
    leadline.bench("pass", repeat=0)
except ValueError as e:
    print("refused:", e)
"""
    r = subprocess.run(require(label).command("-c", code), capture_output=True, text=True,
                       env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "LEADLINE_BINARY": tool.binary})
    assert r.returncode == 0, r.stderr
    assert r.stdout == "refused: repeat must be at least 1\n"
