"""What leadline leaves of itself inside a program: no thread of its own in any mode, and no hook once the tool has died."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from consumers import module
from interpreters import require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
SECONDS = 100
LABELS = ("3.8", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.15")
OLD = ("3.8", "3.11")
MODES = {
    "samples": (),
    "calls": ("--trace",),
    "counts": ("--count",),
    "counted lines": ("--count=lines",),
    "timeline": ("--trace=timeline",),
    "lines": ("--lines=work",),
    "lines and calls": ("--trace", "--lines=work"),
    "lines to be chosen": ("--lines=auto",),
    "budget": ("--budget", "10%"),
    "operators": ("--torch",),
}
HOOKED = [mode for mode in MODES if mode not in ("samples", "operators")]


def run(label, program, options, *words, look=None):
    """What the program says through a file, since the tool may end before it does; and what the two printed. look(folder): meanwhile."""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        script = Path(folder) / "program.py"
        script.write_text(program)
        said = Path(folder) / "said"
        tool = subprocess.Popen([LEADLINE, "run", "-o", f"{own}/x.lead", *options, "--", *require(label).command(*words, str(script), str(said))],
                                env={**os.environ, "TMPDIR": folder}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if look:
            look(Path(folder))
        printed, _ = tool.communicate(timeout=SECONDS)  # until the program, which has the pipe too, ends
        return said.read_text().split("\n")[:-1] if said.exists() else [], printed, tool.returncode


# ---- threads

# Shows itself and, afterwards, its child, and works until the two were looked at.
THREADS = """
import os, sys, time

def small(n):
    return n + 1

def work():
    n = 0
    for i in range(20000):
        n = small(n)
    return n

def show(name):
    for i in range(20):
        work()
    with open(name + ".part", "w") as out:
        out.write(str(os.getpid()))
    os.rename(name + ".part", name)
    end = time.monotonic() + 40
    while time.monotonic() < end and not os.path.exists(name + ".seen"):
        work()

folder = os.path.dirname(sys.argv[1])
show(folder + "/parent")
pid = os.fork()
if pid == 0:
    show(folder + "/child")
    os._exit(0)
status = os.waitpid(pid, 0)[1]
with open(sys.argv[1], "w") as out:
    print(status, file=out)
"""


def n_threads(folder, name):
    """Of the process that shows itself by a file of that name; seen from outside: some roots have no /proc."""
    end = time.monotonic() + SECONDS / 2
    while time.monotonic() < end and not (folder / name).exists():
        time.sleep(0.01)
    n = len(os.listdir(f"/proc/{(folder / name).read_text()}/task"))
    (folder / f"{name}.seen").touch()
    return n


@pytest.mark.parametrize("label, mode", [(label, mode) for label in LABELS for mode in MODES if mode != "budget" or label not in OLD])
def test_no_thread_of_ours(label, mode):
    """A program of one thread has one, its child too; and os.fork() has nothing to warn of (from 3.12 on it looks at the threads)."""
    found = []
    said, printed, status = run(label, THREADS, MODES[mode], "-W", "error",
                                look=lambda folder: found.extend([n_threads(folder, "parent"), n_threads(folder, "child")]))
    assert (found, said, status) == ([1, 1], ["0"], 0), printed


# ---- hooks

# How the main thread sits while another one works: in a C function that never returns, or in a loop without a call.
SITTING = {"in C": "lock = _thread.allocate_lock(); lock.acquire(); lock.acquire()", "in a loop": "while True: pass"}

HOOKS = """
import _thread, cProfile, ctypes, os, signal, sys, threading, time

api = ctypes.pythonapi
for name in ("PyThreadState_Get", "PyInterpreterState_Main", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
    getattr(api, name).restype = ctypes.c_void_p
    getattr(api, name).argtypes = [ctypes.c_void_p] * (name in ("PyInterpreterState_ThreadHead", "PyThreadState_Next"))

def words_of(state):
    return (ctypes.c_void_p * 64).from_address(state)

def find_place(found):
    # Where thread states keep c_profilefunc, c_tracefunc, c_profileobj, c_traceobj, in this order.
    def mine(*event):
        pass
    sys.setprofile(mine)
    words = list(words_of(api.PyThreadState_Get()))
    sys.setprofile(None)
    found.append(words.index(id(mine)) - 2)

def n_hooks():
    # Of ours, in all threads.
    if hasattr(sys, "monitoring"):
        return sum(sys.monitoring.get_tool(i) == "leadline" for i in range(6))
    n, state = 0, api.PyInterpreterState_ThreadHead(api.PyInterpreterState_Main())
    while state:
        words = words_of(state)
        n += bool(words[place[0]]) + bool(words[place[0] + 1])
        state = api.PyThreadState_Next(state)
    return n

def small(n):
    return n + 1

def work(seconds):
    n, end = 0, time.monotonic() + seconds
    while time.monotonic() < end and n_hooks():
        n = small(n)

def main():
    time.sleep(0.5)  # the main thread sits
    end = time.monotonic() + 20
    while not n_hooks() and time.monotonic() < end:  # for a moment there are none when lines were just chosen
        pass
    before = n_hooks()
    os.kill(os.getppid(), signal.SIGKILL)
    while os.getppid() == parent:
        pass
    work(20)
    profile = cProfile.Profile()
    profile.runcall(small, 1)
    calls = sum(row.callcount for row in profile.getstats() if getattr(row.code, "co_name", "") == "small")
    with open(sys.argv[1], "w") as out:
        print(before > 0, n_hooks(), sys.getprofile(), sys.gettrace(), calls, file=out)
    os._exit(0)

parent = os.getppid()
place = []
if not hasattr(sys, "monitoring"):
    finder = threading.Thread(target=find_place, args=(place,))
    finder.start()
    finder.join()
threading.Thread(target=main).start()
SITTING
"""


@pytest.mark.parametrize("sitting", SITTING)
@pytest.mark.parametrize("label, mode", [(label, mode) for label in LABELS for mode in HOOKED if mode != "budget" or label not in OLD])
def test_no_hook_outlives_the_tool(label, mode, sitting):
    """The tool is killed while the main thread sits where it sees nothing of it: the others' next events take the hooks out of all."""
    said, printed, status = run(label, HOOKS.replace("SITTING", SITTING[sitting]), MODES[mode])
    assert (said, status) == (["True 0 None None 1"], -signal.SIGKILL), printed


GREENLETS = """
import os, signal, sys
import greenlet

def pong():
    while True:
        main.switch()

def switch(n):
    for i in range(n):
        other.switch()

main = greenlet.getcurrent()
other = greenlet.greenlet(pong)
switch(10)
before = greenlet.gettrace() is not None
parent = os.getppid()
os.kill(parent, signal.SIGKILL)
while os.getppid() == parent:
    pass
switch(10)
with open(sys.argv[1], "w") as out:
    print(before, greenlet.gettrace(), file=out)
"""


@pytest.mark.parametrize("label", ("3.8", "3.13"))
def test_no_hook_of_greenlets_outlives_the_tool(label):
    program = f"import sys; sys.path.insert(0, {str(module(label, 'greenlet'))!r})\n" + GREENLETS
    said, printed, status = run(label, program, ("--trace",))
    assert (said, status) == (["True None"], -signal.SIGKILL), printed


TORCH = """
import os, signal, sys
import torch

def work():
    for i in range(200):
        torch.ones(3) + 1

kind = torch._C._autograd._profiler_type
work()
before = str(kind())
parent = os.getppid()
os.kill(parent, signal.SIGKILL)
while os.getppid() == parent:
    pass
work()
with open(sys.argv[1], "w") as out:
    print(before, kind(), file=out)
"""


def test_no_range_of_torch_outlives_the_tool(tmp_path):
    """Ranges for a collector that nobody listens to are switched off in the main thread."""
    pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(TORCH)
    tool = subprocess.Popen([LEADLINE, "run", "--torch", "-o", tmp_path / "x.lead", "--", sys.executable, tmp_path / "program.py", tmp_path / "said"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    printed, _ = tool.communicate(timeout=SECONDS)
    assert (tmp_path / "said").read_text() == "ActiveProfilerType.ITT ActiveProfilerType.NONE\n", printed


# ---- limits


@pytest.mark.parametrize("label", ("3.8", "3.11", "3.13"))
@pytest.mark.parametrize("limit, said", (("-v 400000", "limited to 390 MiB"), ("-n 4", "limited to 4 open files"), ("-n 5", "limited to 5 open files")))
def test_a_limit_that_keeps_the_agent_out_is_named(tmp_path, label, limit, said):
    """Which one, its value and how to raise it; the program runs on."""
    command = f"ulimit {limit}; exec {require(label).exe} -c 'print(6 * 7)'"
    for mode in ("--trace", "--count", "--lines=work"):
        r = subprocess.run([LEADLINE, "run", mode, "-o", tmp_path / f"{mode}.lead", "--", "sh", "-c", command], capture_output=True, text=True, timeout=SECONDS)
        told = [line for line in r.stderr.splitlines() if line.startswith(("No calls were traced", "No lines were counted"))]
        assert r.returncode == 0 and r.stdout == "42\n", r
        assert len(told) == 1 and said in told[0] and f"ulimit {limit[:2]}" in told[0] and "PYTHONPATH" not in r.stderr, r


def test_a_limit_of_one_process_among_others_is_a_note(tmp_path):
    python = require("3.13").exe
    command = f"{python} -c 'print(1)'; ulimit -v 400000; {python} -c 'print(2)'"
    r = subprocess.run([LEADLINE, "run", "--trace", "-o", tmp_path / "x.lead", "--", "sh", "-c", command], capture_output=True, text=True, timeout=SECONDS)
    assert r.returncode == 0 and r.stdout == "1\n2\n", r
    assert "Tracing: the address space of process" in r.stderr and "limited to 390 MiB" in r.stderr, r


# ---- agents of another version

# Says hello as the agent of an older or newer leadline would, and shows how it is answered.
STRANGER = """
import os, socket, struct, sys

s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ["LEADLINE_SESSION"] + "/socket")
s.send(struct.pack("=8sIiiIQ128s", b"leadline", int(sys.argv[2]), os.getpid(), os.getppid(), 0, 1, b"cpython 3.13.0"))
data, ancillary, _, _ = s.recvmsg(1000, 1000)
_, _, refused, _, text = struct.unpack("=8sIiQ128s", data)
with open(sys.argv[1], "w") as said:
    said.write("%s: %s, %d descriptors" % (os.strerror(refused), text.rstrip(bytes(1)).decode(), len(ancillary)))
"""


@pytest.mark.parametrize("version", ("2", "1000"))
def test_an_agent_of_another_version_is_refused_and_named(tmp_path, version):
    (tmp_path / "program.py").write_text(STRANGER)
    r = subprocess.run([LEADLINE, "run", "--trace", "-o", tmp_path / "x.lead", "--", require("3.13").exe, "-I", tmp_path / "program.py", tmp_path / "said", version],
                       capture_output=True, text=True, timeout=SECONDS)
    assert r.returncode == 0, r
    assert (tmp_path / "said").read_text() == "Protocol error: the agent is of another version than the tool, 0 descriptors"
    told = [line for line in r.stderr.splitlines() if line.startswith("No calls were traced")]
    assert len(told) == 1 and "the agent of another leadline version, which was refused: restart it" in told[0], r.stderr
