"""run --memory and leadline memory, on programs that know what they allocate."""

import json
import os
import signal
import subprocess
import sys

import pytest
from interpreters import EXPECTED, inside, require, shared_folder
from test_trace import LEADLINE

SECONDS = 100

KEEP = """
import sys

def keep(n):
    return [bytes(100_000) for _ in range(n)]  # kept

def churn(n):
    for _ in range(n):
        bytearray(50_000)  # gone

kept = keep(400)
churn(4000)
print(len(kept), sys.argv[1:])
kept.append(bytes(1))
sys.exit(3)
"""


def environment(label):
    return {**os.environ, "TMPDIR": shared_folder(label)}


def record(tmp_path, label, program, *options, before=(), arguments=(), env=None, python_options=(), status=0):
    """The result of the run and its recording."""
    script = tmp_path / "program.py"
    script.write_text(program)
    recording = tmp_path / "memory.lead"
    with inside(label, script) as path:
        command = [*before, *require(label).command(*python_options, str(path), *arguments)]
        r = subprocess.run(
            [LEADLINE, "run", "--force", "-o", recording, "--report", tmp_path / "report.txt", "--memory", *options, "--", *command],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**environment(label), **(env or {})},
        )
    assert r.returncode == status, r.stderr
    return r, recording


def memory(recording, view=None):
    """What report --memory --json says; with a view, its rows."""
    how = f"--memory={view}" if view else "--memory"
    r = subprocess.run([LEADLINE, "report", recording, how, "--json"], capture_output=True, text=True, timeout=SECONDS)
    assert r.returncode == 0, r.stderr
    found = json.loads(r.stdout)["allocations"]
    return found["views"][0] if view else found


def self_bytes(view, name):
    """Of all functions whose name holds it."""
    return sum(f["self"] for f in view["functions"] if name in f["name"])


def total_bytes(view, name):
    return max([f["total"] for f in view["functions"] if f["name"] == name], default=0)


@pytest.mark.measured
@pytest.mark.parametrize("label", EXPECTED)
def test_what_is_kept_and_what_is_gone(label, tmp_path, draw):
    r, recording = record(tmp_path, label, KEEP, arguments=("a", "-b"), status=3)
    assert r.stdout == "400 ['a', '-b']\n"
    all_of_it = memory(recording)
    truth = 400 * 100_000 + 4000 * 50_000
    counted = all_of_it["allocated"]["counted_bytes"]
    assert truth < counted < truth * 1.15  # and what the interpreter itself needs to start and end
    draw.share("estimated of counted", all_of_it["allocated"]["bytes"], counted, 0.85, 1.15)
    peak = memory(recording, "peak")
    draw.share("kept at the peak", total_bytes(peak, "keep"), 400 * 100_000, 0.8, 1.2)
    draw.share("gone at the peak", total_bytes(peak, "churn"), 400 * 100_000, 0, 0.02)
    draw.share("churn of all", total_bytes(memory(recording, "churn"), "churn"), 4000 * 50_000, 0.85, 1.15)
    assert {line["line"] for line in peak["lines"] if line["total"] > 20e6} >= {5}


# Free-threaded builds have no PYTHONMALLOC=malloc.
@pytest.mark.parametrize("label, how", [(label, how) for label in EXPECTED for how in ("malloc", "debug", "dev", "isolated")
                                        if not (how == "malloc" and label.endswith("t"))])
def test_other_allocators(label, how, tmp_path):
    env = {"PYTHONMALLOC": how} if how in ("malloc", "debug") else {}
    options = {"dev": ("-X", "dev"), "isolated": ("-I", "-S", "-E")}.get(how, ())
    r, recording = record(tmp_path, label, KEEP, "--rate=100", env=env, python_options=options, status=3)
    assert r.stdout == "400 []\n"
    counted = memory(recording)["allocated"]["counted_bytes"]
    assert 240e6 < counted < 240e6 * 1.3
    assert total_bytes(memory(recording, "peak"), "keep") > 30e6


SMALL = """
import ctypes, mmap, threading
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.realloc.restype = ctypes.c_void_p
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

def by_malloc():
    return [libc.malloc(200_000) for _ in range(200)]

def by_realloc():
    p = None
    for n in range(1, 101):
        p = libc.realloc(p, n * 10_000)
    return p

def by_mmap():
    return [mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(30)]

def small():
    return [[i] for i in range(300_000)]

def release(blocks):
    for p in blocks:
        libc.free(p)

blocks, maps = by_malloc(), by_mmap()
last = by_realloc()
lists = small()
other = threading.Thread(target=release, args=(blocks,))
other.start()
other.join()
del maps
print("done")
"""


@pytest.mark.measured
@pytest.mark.parametrize("label", EXPECTED)
def test_every_way_to_allocate(label, tmp_path, draw):
    r, recording = record(tmp_path, label, SMALL, "--rate=100")
    assert r.stdout == "done\n"
    peak, churn = memory(recording, "peak"), memory(recording, "churn")
    draw.share("malloc", total_bytes(peak, "by_malloc"), 200 * 200_000, 0.8, 1.2)
    draw.share("mmap", total_bytes(peak, "by_mmap"), 30 << 20, 0.8, 1.2)
    draw.share("realloc, live", total_bytes(peak, "by_realloc"), 1_000_000, 0.3, 1.7)
    # a list, its item, the number and a place in the list around them; some 10 or 20 bytes more or less by version
    draw.share("small lists", total_bytes(peak, "small"), 300_000 * 120, 0.7, 1.4)
    # those of the 5050 steps of 10 000 bytes that realloc has left behind
    draw.share("realloc, released", total_bytes(churn, "by_realloc"), (5050 - 100) * 10_000, 0.7, 1.3)


THREADS = """
import threading, sys
n = int(sys.argv[1])

def work():
    bytearray(20_000)

def some(k):
    for _ in range(k):
        t = threading.Thread(target=work)
        t.start()
        t.join()

makers = [threading.Thread(target=some, args=(n // 4,)) for _ in range(4)]
for m in makers: m.start()
for m in makers: m.join()
print("done")
"""


@pytest.mark.parametrize("label", ["3.8", "3.13", "3.13t"])
def test_threads_by_the_thousand(label, tmp_path):
    r, recording = record(tmp_path, label, THREADS, "--rate=100", arguments=("20000",))
    assert r.stdout == "done\n"
    assert memory(recording)["allocated"]["counted_bytes"] > 20_000 * 20_000


FORKS = """
import os, sys, threading

def in_child():
    return [bytes(100_000) for _ in range(100)]

def fork():
    pid = os.fork()
    if not pid:
        kept = in_child()
        os._exit(0 if len(kept) == 100 else 1)
    os._exit(9) if os.waitpid(pid, 0)[1] else None

def fork_some():
    for _ in range(5):
        fork()

threads = [threading.Thread(target=fork_some) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
kept = [bytes(100_000) for _ in range(50)]
if len(sys.argv) == 1:
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
print("done")
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("label", ["3.8", "3.11", "3.12", "3.13"])
def test_forks_in_threads_and_an_exec(label, tmp_path):
    r, recording = record(tmp_path, label, FORKS, "--rate=100", python_options=("-W", "ignore"))
    assert r.stdout == "done\n"
    found = memory(recording)
    assert found["allocated"]["counted_bytes"] > 20 * 100 * 100_000
    assert total_bytes(memory(recording, "churn"), "in_child") + total_bytes(memory(recording, "leaks"), "in_child") > 100e6


def test_a_run_says_how_allocations_were_sampled(tmp_path):
    record(tmp_path, "3.13", KEEP, "--memory=64k", status=3)
    said = " ".join((tmp_path / "report.txt").read_text().split())
    assert "allocations sampled, one per 64.0 KiB, 0 dropped; which code made them: leadline report" in said
    assert "Functions" in said  # and where its time went


LEFT = """
import time
pieces = [bytes(100_000) for _ in range(500)]  # released
del pieces
left = [bytes(100_000) for _ in range(200)]
end = time.perf_counter() + 0.1
while time.perf_counter() < end:
    pass
"""


@pytest.mark.parametrize("label", ["3.8", "3.13"])
def test_what_is_left_at_the_end_is_what_the_program_left(label, tmp_path, draw):
    """Neither what it released before, nor nothing because the interpreter releases all."""
    (tmp_path / "program.py").write_text(LEFT)
    recording = tmp_path / "left.lead"
    subprocess.run([LEADLINE, "memory", "-o", recording, "--", *require(label).command(tmp_path / "program.py")],
                   check=True, capture_output=True, timeout=SECONDS, env=environment(label))
    found = memory(recording)
    draw.share("at the peak", found["peak"]["bytes"], 500 * 100_000, 0.85, 1.15)
    draw.share("at the end", found["end"]["bytes"], 200 * 100_000, 0.8, 1.25)


def test_what_no_sample_met_is_not_zero(tmp_path):
    """A period so long that nothing is sampled: bytes are counted, and everything else is not known."""
    (tmp_path / "program.py").write_text("kept = list(range(10_000))\n")
    r = subprocess.run([LEADLINE, "memory", "--period", "1024G", "-o", tmp_path / "none.lead", "--", *require("3.13").command(tmp_path / "program.py")],
                       capture_output=True, text=True, timeout=SECONDS, env=environment("3.13"))
    assert r.returncode == 0 and "not known: no allocation was sampled" in r.stderr and "; counted: " in r.stderr, r.stderr
    assert "0 B" not in r.stderr


def test_arrays_of_numpy(tmp_path):
    pytest.importorskip("numpy")
    program = "import numpy\ndef arrays():\n    return [numpy.empty(125_000) for _ in range(100)]\nkept = arrays()\n"
    (tmp_path / "program.py").write_text(program)
    recording = tmp_path / "numpy.lead"
    subprocess.run([LEADLINE, "memory", "-o", recording, "--", sys.executable, tmp_path / "program.py"], check=True, capture_output=True, timeout=SECONDS)
    assert 95e6 < total_bytes(memory(recording, "peak"), "arrays") < 105e6


def test_a_killed_program_leaves_its_peak(tmp_path):
    program = KEEP.replace("sys.exit(3)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    _, recording = record(tmp_path, "3.13", program, status=128 + signal.SIGKILL)
    assert total_bytes(memory(recording, "peak"), "keep") > 30e6
    assert memory(recording)["allocated"]["counted_bytes"] > 240e6


def test_own_preloaded_libraries_stay(tmp_path):
    library = subprocess.check_output(["sh", "-c", "ldconfig -p | sed -n 's/.*libz.so.1 .*=> //p' | head -1"], text=True).strip()
    program = "import os\nprint(os.environ['LD_PRELOAD'].split(':')[1:])\nprint('libz' in open('/proc/self/maps').read())\n"
    r, _ = record(tmp_path, "3.13", program, env={"LD_PRELOAD": library})
    assert r.stdout == f"['{library}']\nTrue\n"


def test_children_that_are_no_python_run_as_ever(tmp_path):
    program = "import subprocess\nprint(subprocess.run(['sh', '-c', 'ls / >/dev/null; echo out; echo err >&2; exit 4'], capture_output=True))\n"
    r, _ = record(tmp_path, "3.13", program)
    assert "returncode=4, stdout=b'out\\n', stderr=b'err\\n'" in r.stdout


def test_a_program_that_outlives_the_session_hears_nothing_of_it(tmp_path):
    """The library stays where it was: the loader does not complain in what is started later."""
    program = f"""
import os, subprocess, sys, time
if os.fork():
    os._exit(0)
time.sleep(2)
r = subprocess.run(["true"], capture_output=True)
junk = [bytes(100_000) for _ in range(100)]
open({str(tmp_path / "said")!r}, "wb").write(b"said: " + r.stderr)
"""
    record(tmp_path, "3.13", program)
    for _ in range(100):
        if (tmp_path / "said").exists() and (tmp_path / "said").read_bytes():
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert (tmp_path / "said").read_bytes() == b"said: "


def test_the_command(tmp_path):
    (tmp_path / "program.py").write_text(KEEP)
    r = subprocess.run(
        [LEADLINE, "memory", "--python", require("3.13").exe, "program.py", "x"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS
    )
    assert (r.returncode, r.stdout) == (3, "400 ['x']\n")
    assert "Functions (memory at the peak)" in r.stderr and "program.py:4" in r.stderr and "program.lead" in r.stderr


@pytest.mark.parametrize("text", ["", "0", "x", "-1", "5q", "99999999999", "2000G"])
def test_periods_that_make_no_sense(text, tmp_path):
    for command in (["run", f"--memory={text}"], ["memory", f"--period={text}"]):
        r = subprocess.run([LEADLINE, *command, sys.executable, "-c", "1"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
        assert r.returncode in (2, 125) and "between two samples" in r.stderr, r.stderr
        assert list(tmp_path.iterdir()) == []


def test_not_with_agents(tmp_path):
    r = subprocess.run([LEADLINE, "run", "--memory", "--trace", "x.py"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert r.returncode in (2, 125) and "--memory works with sampling only" in r.stderr
