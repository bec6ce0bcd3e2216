"""Programs at the sampler's edges (tests/edges), recorded and held against their own truth; for the tests and the benchmark.

`record` runs one under leadline, in one of WAYS, and gives a Recorded. `cells` compares its functions with the truth,
`bars` its books. No number of a report is believed here because another one of the same report agrees.
"""
import contextlib
import json
import math
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

import consumers
from interpreters import require
from users import ALICE, as_user

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "edges"
WAYS = ("root", "user", "namespace", "attach")
STOP_S = 1.0
SECONDS = 120  # the most that a run takes
EXPECTED_HZ = 1000
LOOKS_BYTES = 3000  # of a recording: it has samples

# Of the CPU time that may be in no row, by what told of threads. The truth needs as much: what is not seen is missing in a row.
NOT_SEEN = {"events": 0.02, "ids": 0.05, "clock": 0.05}
LATE = 0.05
BALANCE = 0.001  # two ways to add up the same numbers
CLOCK_S = 0.005  # a truth, of its readings of a clock and what is between them
# What an interpreter does after it has written the truth: it ends. And between its start and the first look of its own.
ENDS_S = 0.06


@dataclass(frozen=True)
class Edge:
    """A program and which of its functions are compared: their CPU time, and where the program can tell, their wall time."""

    name: str
    cpu: tuple = ()
    wall: tuple = ()
    program: str = ""  # if not NAME.py
    stops: str = ""  # what is stopped by a signal for STOP_S: "program", or "both" that and the tool
    descriptors: int = 0  # limit of them; 0: as it is
    module: str = ""  # of tools/consumers that it needs
    library: str = ""  # to be compiled for it
    counts_threads: bool = False  # it knows exactly how many there were

    @property
    def file(self):
        return self.program or f"{self.name}.py"


EDGES = {e.name: e for e in (
    Edge("short_threads", cpu=("leaf", "twig"), wall=("leaf",), counts_threads=True),
    Edge("http_requests", cpu=("render",), wall=("render", "ask"), counts_threads=True),
    Edge("c_calls", cpu=("spin",), wall=("spin", "wait"), library="c_calls"),
    Edge("pools", cpu=("task",), wall=("task",)),
    Edge("greenlet_turns", cpu=("one", "two", "short"), wall=("one", "two", "short"), module="greenlet"),
    Edge("spawned", cpu=("leaf",), wall=("leaf",)),
    Edge("forked", cpu=("leaf",), wall=("leaf",)),
    Edge("forkserver", cpu=("task",), wall=("task",)),
    Edge("becomes", cpu=("before", "after"), wall=("before", "after", "nap")),
    Edge("stopped", cpu=("work",), wall=("work", "wait"), stops="program"),
    Edge("stopped_both", cpu=("work",), wall=("work", "wait"), stops="both", program="stopped.py"),
    Edge("ending", cpu=("work",), wall=("work",)),
    Edge("gil", cpu=("heavy", "light"), wall=("fight",)),
    Edge("crowd", cpu=("heavy", "light"), wall=("compute",)),
    Edge("many_idle", cpu=("heavy", "light"), wall=("heavy", "wait"), descriptors=1024),
)}


@dataclass
class Recorded:
    edge: Edge
    way: str
    truth: dict
    cpu: dict  # the report of what was on a CPU
    wall: dict  # the report of all states
    said: str
    stopped_s: float = 0.0  # by our clock


@dataclass
class Cell:
    """A function's true seconds beside those shown."""

    what: str
    true: float
    shown: float
    low: float
    high: float
    tolerance: float  # seconds that the truth itself, or a bar of the books, leaves open

    @property
    def is_held(self):
        return self.low - self.tolerance <= self.true <= self.high + self.tolerance


@dataclass
class Bar:
    """A figure of the books, between two bars."""

    what: str
    value: float
    low: float
    high: float

    @property
    def distance(self):
        """To the nearer bar; not above 0 where it is held."""
        return max(self.low - self.value, self.value - self.high)

    @property
    def is_held(self):
        return self.distance <= 0


# ---- running ---------------------------------------------------------------------------------------------------


def compiled(name, folder):
    """A C library of tests/edges, for whichever interpreter: it knows nothing of Python."""
    out = folder / f"{name}.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-pthread", "-o", out, PROGRAMS / f"{name}.c"], check=True, timeout=SECONDS)
    return out


@contextlib.contextmanager
def place(edge, label, uid=0):
    """A folder with the program and what it needs, where that interpreter and that user reach it: (its path, its path in there)."""
    root = pathlib.Path(require(label).root)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="leadline-edge-", dir=root / "tmp"))
    try:
        folder.chmod(0o755)
        for file in PROGRAMS.glob("*.py"):
            shutil.copy(file, folder)
        if edge.library:
            compiled(edge.library, folder)
        if edge.module:
            shutil.copytree(consumers.module(label, edge.module) / edge.module, folder / edge.module)
        os.chown(folder, uid, uid)
        yield folder, "/" / folder.relative_to(root)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def descendants(pid):
    """The processes below one, parents first, with their commands."""
    children = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append((int(entry.name), (entry / "cmdline").read_text()))
    found, at = [], [pid]
    while at:
        below = children.get(at.pop(0), [])
        found += below
        at += [p for p, _ in below]
    return found


def exists(path, maker, size=0):
    """Waits for a file that a program makes, of that many bytes."""
    deadline = time.monotonic() + SECONDS
    while not path.exists() or path.stat().st_size < size:
        if maker.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{path.name} was not made")
        time.sleep(0.005)


def stop_for_a_while(edge, target, tool, ready, stopped):
    """Stops the program, or both it and the tool, and lets them go on; how long it was goes to `stopped`."""
    exists(ready, tool)
    all_of_it = [(p.pid, (pathlib.Path("/proc") / str(p.pid) / "cmdline").read_text()) for p in {tool.pid: tool, target.pid: target}.values()]
    all_of_it += descendants(tool.pid) + (descendants(target.pid) if target is not tool else [])
    # Before it stand unshare and leadline itself, with its name among their arguments.
    program = [p for p, command in all_of_it if edge.file in command and command.split("\0")[0].rpartition("/")[2].startswith("python")]
    pids = [p for p, _ in all_of_it] if edge.stops == "both" else program
    began = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(STOP_S)  # this is what is measured
    for pid in reversed(pids):
        os.kill(pid, signal.SIGCONT)
    if program:
        stopped.append(time.monotonic() - began)


def limited(edge):
    """Keyword arguments for subprocess with the edge's limits."""
    if not edge.descriptors:
        return {}
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (edge.descriptors, hard))}


def program_command(way, label, *args):
    """The interpreter's command line. An ordinary user enters another root through a user namespace of his own."""
    python = require(label)
    enter = ["unshare", "-Ur"] if way == "user" and python.root != "/" else []
    return [*enter, *python.command(*args)]


@contextlib.contextmanager
def process(command, **kwargs):
    """One that is gone afterwards, whatever happens."""
    p = subprocess.Popen(command, **kwargs)
    try:
        yield p
    finally:
        p.kill()
        p.communicate()


def wait(p, what):
    out, errors = p.communicate(timeout=SECONDS)
    if p.returncode:
        raise RuntimeError(f"{what}: status {p.returncode}: {(out + errors)[-600:]}")
    return out + errors


def record(binary, label, edge, way="root", options=()):
    """The edge's program on that interpreter under leadline."""
    uid = ALICE if way == "user" else 0
    kwargs = {**(as_user(ALICE) if uid else {}), **limited(edge), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with place(edge, label, uid) as (outside, inside), contextlib.ExitStack() as ended:
        program = program_command(way, label, str(inside / edge.file), str(inside / "truth.json"))
        own = ["-o", str(outside / "x.lead"), "--report=/dev/null", *options]
        if way == "attach":
            kwargs["env"] = {**os.environ, "GO": str(inside / "go")}
            target = ended.enter_context(process(program, **kwargs))
            exists(outside / "truth.json.waits", target)
            del kwargs["env"]
            tool = ended.enter_context(process([binary, "attach", str(target.pid), *own], **kwargs))
            exists(outside / "x.lead", tool, LOOKS_BYTES)
            (outside / "go").touch()
        else:
            enter = ["unshare", "--pid", "--fork", "--mount-proc"] if way == "namespace" else []
            target = tool = ended.enter_context(process([*enter, binary, "run", *own, "--", *program], **kwargs))
        stopped = []
        stopper = threading.Thread(target=stop_for_a_while, args=(edge, target, tool, outside / "truth.json.ready", stopped))
        if edge.stops:
            stopper.start()
        said = wait(tool, "leadline")
        if way == "attach":
            said += wait(target, edge.file)
        if edge.stops:
            stopper.join()
            if not stopped:
                raise RuntimeError("there was nobody to stop")
        truth = json.loads((outside / "truth.json").read_text())
        cpu, wall = (json.loads(subprocess.run([binary, "report", outside / "x.lead", "--json", "--limit=0", "--idle", "--threads", "--state", state],
                                               check=True, capture_output=True, timeout=SECONDS).stdout) for state in ("cpu", "wall"))
    return Recorded(edge, way, truth, cpu, wall, said, sum(stopped))


@contextlib.contextmanager
def load(processes=4):
    """That many programs that do nothing but compute."""
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for p in busy:
            p.kill()
            p.wait()


# ---- comparing -------------------------------------------------------------------------------------------------


def books(report):
    """What was seen of all the time there was; None in a report that does not tell."""
    return report.get("books")


def evidence(run):
    """What told of threads."""
    b = books(run.wall)
    return b["evidence"] if b else "events"


def row(report, edge, name):
    """(seconds, low, high) of the function, with what it calls, in all processes. Short-lived programs are told with -c."""
    rows = [f for f in report["functions"] if f["name"] == name and f["file"].rpartition("/")[2] in (edge.file, "<string>")]
    return tuple(sum(f[key] for f in rows) for key in ("total", "total_low", "total_high"))


def narrow(shown, low, high, true):
    """The interval, not wider than a tenth of the truth or, where that is more, three standard deviations of as many samples as the truth
    would have given: a report that is unsure of everything holds every truth."""
    most = max(3 * math.sqrt(max(true, 0.01) / EXPECTED_HZ), 0.1 * true)
    return max(low, shown - most), min(high, shown + most)


def cells(run, times=1):
    """Each function that the program knows the truth of. times: what may be missing, in bars."""
    found = []
    for clock, report, names in (("cpu", run.cpu, run.edge.cpu), ("wall", run.wall, run.edge.wall)):
        for name in names:
            true = run.truth["functions"][name][f"{clock}_s"]
            shown, low, high = row(report, run.edge, name)
            missing = NOT_SEEN[evidence(run)] * run.truth["cpu_s"] if clock == "cpu" else LATE * true
            found.append(Cell(f"{name} {clock}", true, shown, *narrow(shown, low, high, true), times * missing + CLOCK_S))
    return found


def bars(run, times=1):
    """The books against the kernel's clock, against each other and, so many times as wide, against what may be missing."""
    b, truth = books(run.wall), run.truth
    cpu, wall = b["cpu"], b["wall"]
    kernel, threads = cpu["kernel_s"], wall["threads_s"]
    rows = ("sampled_s", "no_python_s", "starting_s", "ending_s", "stopped_s", "late_s")
    true_cpu = truth["cpu_s"] - (truth["cpu_before_s"] if run.way == "attach" else 0)
    found = [
        # What a child used between the last look at it and its end is in no process's book where its parent was the quicker to wait for it.
        Bar("kernel clock, s", kernel + (b.get("unseen_processes_s") or 0), (1 - 0.01 * times) * true_cpu, (1 + 0.01 * times) * true_cpu + ENDS_S),
        Bar("sum of CPU / kernel clock", (cpu["sampled_s"] + cpu["late_s"] + cpu["without_python_s"] + cpu["not_seen_s"]) / kernel, 1 - BALANCE, 1 + BALANCE),
        Bar("sum of wall / threads", sum(wall[r] for r in rows) / threads, 1 - BALANCE, 1 + BALANCE),
        Bar("not seen / CPU", cpu["not_seen_s"] / kernel, -times * NOT_SEEN[b["evidence"]], times * NOT_SEEN[b["evidence"]]),
        Bar("least row of wall, s", min(wall[r] for r in rows), 0, math.inf),
        Bar("least row of CPU, s", min(cpu["sampled_s"], cpu["late_s"], cpu["without_python_s"]), 0, math.inf),
    ]
    if b["threads_not_seen"] is not None:
        found.append(Bar("threads not seen", b["threads_not_seen"], 0, truth["threads"]))
    else:  # by the clock alone nobody can tell; whoever has more must
        found.append(Bar("threads not seen: processes that cannot tell", b["evidence"] != "clock", 0, 0))
    if run.edge.counts_threads and b["evidence"] != "clock":
        told = len(run.wall["threads"]) + b["threads_not_seen"]
        found.append(Bar("threads told / threads", told / truth["threads"], 1 - 0.02 * times, 1 + 0.02 * times))
    if run.edge.stops == "both":  # nobody looked: either row is true
        found.append(Bar("stopped or late, s", wall["stopped_s"] + wall["late_s"], 0.9 * 2 * run.stopped_s, 1.1 * 2 * run.stopped_s + 0.05))
    else:
        found.append(Bar("late / threads", wall["late_s"] / threads, 0, times * LATE))
        found.append(Bar("late / CPU", cpu["late_s"] / kernel, 0, times * LATE))
    if run.edge.stops == "program":
        found.append(Bar("stopped, s", wall["stopped_s"], 0.9 * 2 * run.stopped_s, 1.1 * 2 * run.stopped_s + 0.05))
    if "ending" in truth:  # what atexit calls comes before the interpreter says of itself that it ends
        found.append(Bar("interpreter ending, s", wall["ending_s"] + wall["no_python_s"], (1 - 0.05 * times) * truth["ending"]["wall_s"],
                         (1 + 0.05 * times) * truth["ending"]["wall_s"] + ENDS_S))
    return found
