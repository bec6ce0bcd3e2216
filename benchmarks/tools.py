"""The tools that benchmarks/sampler.py runs side by side, behind one face: leadline, py-spy, the sampler of 3.15.

`record` runs a program under a tool and returns a Recorded: what the program said of itself, what the tool said and
used. A peer that is not there answers `missing` with the reason. py-spy comes from PyPI into an environment of its
own in the cache; the 3.15 sampler is the interpreter's own and can look at no other version.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import interpreters  # noqa: E402
import paired  # noqa: E402
import truth  # noqa: E402

PY_SPY = "py-spy==0.4.3"
PROGRAMS = [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("tests/targets/*.py"), *ROOT.glob("examples/*.py")]
READ_EVERY_S = 0.1
SETTLE_S = 0.7  # until the tool has found the program


class Place:
    """An interpreter with a folder, inside its root, that holds the programs and what tools write."""

    def __init__(self, python, is_apart=False):
        self.python = python
        self.pinned = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if is_apart else []
        self.root = pathlib.Path(self.python.root)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bench", dir=self.root / "tmp"))
        for program in PROGRAMS:
            shutil.copy(program, self.folder)

    def inside(self, name):
        """The path of a file in the folder as the interpreter sees it."""
        return str("/" / (self.folder / name).relative_to(self.root))

    def command(self, program, *args):
        return [*self.pinned, *self.python.command(self.inside(program), *map(str, args))]

    def legal_pairs(self, program, *args):
        return truth.legal_pairs(self.python, self.inside(program), *args, oracle=self.inside("pairs.py"))

    def remove(self):
        shutil.rmtree(self.folder)


@dataclass
class Recorded:
    program: dict  # what the program printed
    own_cpu: float  # of the tool while the program ran, in cores
    slowdown: paired.Slowdown | None = None  # of a gated run
    by_loop: paired.Slowdown | None = None  # by a busy loop in the tool's place, at the same time
    rate_hz: float | None = None  # reached
    samples: int | None = None
    lost: float | None = None  # share of samples
    shortened: float | None = None
    stacks: dict = field(default_factory=dict)  # {(name, …): count}
    report: dict = field(default_factory=dict)  # leadline's --json
    bytes: int | None = None  # of the recording
    said: str = ""  # all else that was printed


# ---- running ---------------------------------------------------------------------------------------------------


def cpu_s(pid):
    """CPU seconds of all threads of a process; None when it is gone."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        return sum(int(open(f"/proc/{pid}/task/{t}/schedstat").read().split()[0]) for t in tasks) / 1e9
    except (FileNotFoundError, ProcessLookupError):
        return None


def use(readings, begin, end):
    """Cores used between begin and end, of (time, CPU seconds) readings."""
    inside = [r for r in readings if begin <= r[0] <= end]
    if len(inside) < 2:
        return float("nan")
    (t0, c0), (t1, c1) = inside[0], inside[-1]
    return (c1 - c0) / (t1 - t0)


def wait_with(process, gate):
    """Waits for the end of a process; readings of its CPU time meanwhile."""
    readings = []
    while process.poll() is None:
        readings.append((time.monotonic(), cpu_s(process.pid)))
        try:
            process.wait(min(READ_EVERY_S, gate.step()) if gate else READ_EVERY_S)
        except subprocess.TimeoutExpired:
            pass
    return [r for r in readings if r[1] is not None]


@contextlib.contextmanager
def gate_for(tool_pid):
    """A gate for a tool, with a busy loop of its own."""
    loop = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    loop.send_signal(signal.SIGSTOP)
    try:
        yield paired.Gate(SETTLE_S, tool=tool_pid, loop=loop.pid)
    finally:
        loop.kill()
        loop.wait()


def watch(command, is_gated=False, is_control=False):
    """Runs a command to its end: Recorded with the program's words, the command's own CPU and, gated, the slow-down.

    Gated, the command itself is stopped and let go on, and nothing is in a control. The program's JSON line is the last of
    stdout that begins with a brace.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, stdin=subprocess.DEVNULL)
        with gate_for(0 if is_control else process.pid) if is_gated else contextlib.nullcontext() as gate:
            readings = wait_with(process, gate)
        out.seek(0)
        errors.seek(0)
        printed = out.read().splitlines()
        said = errors.read()
    lines = [line for line in printed if line.startswith("{")]
    said += "\n".join(line for line in printed if not line.startswith("{"))
    if process.returncode or not lines:
        raise RuntimeError(f"{' '.join(command)}: status {process.returncode}: {said[-500:]}")
    program = json.loads(lines[-1])
    marks = program.get("marks") or [[readings[0][0], 0], [readings[-1][0], 1]]
    return Recorded(program, use(readings, marks[0][0] + 0.3, marks[-1][0]),
                    slowdown=gate and gate.slowdown(marks), by_loop=gate and gate.slowdown(marks, "loop"), said=said)


def alone(place, program, *args, is_gated=False):
    """The program without any tool; gated: the control."""
    return watch(place.command(program, *args), is_gated, is_control=True)


# ---- leadline --------------------------------------------------------------------------------------------------


class Leadline:
    name = "leadline"

    def __init__(self, executable):
        self.executable = executable

    def missing(self, place):
        return None if os.access(self.executable, os.X_OK) else f"{self.executable} is not there: make build"

    def record(self, place, rate, program, *args, is_gated=False, keep=None):
        with tempfile.TemporaryDirectory() as folder:
            record, out = keep or f"{folder}/r.lead", f"{folder}/r.json"
            r = watch([self.executable, "run", f"--rate={rate}", "-o", record, f"--json={out}", "--limit=0",
                       "--report=/dev/null", "--", *place.command(program, *args)], is_gated)
            r.report = json.load(open(out))
            r.bytes = os.path.getsize(record)
            folded = subprocess.run([self.executable, "export", record, "--format", "collapsed"],
                                    capture_output=True, text=True, check=True).stdout
        f = r.report.get("fidelity")
        if not f or not f["samples"]:
            raise RuntimeError(f"no samples: {r.said.strip()[-300:]}")
        r.stacks = truth.parse_collapsed(folded)
        r.samples, r.rate_hz = f["samples"], f["rate_reached_hz"]
        r.lost, r.shortened = f["lost"] / max(f["samples"], 1), f["shortened"] / max(f["samples"], 1)
        return r

    def attach(self, pid, seconds):
        """Seconds from the start of `leadline attach` to the first sample."""
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            subprocess.run([self.executable, "attach", str(pid), "-d", str(seconds), "-o", f"{folder}/a.lead",
                            "--report=/dev/null"], check=True, capture_output=True)
            first = subprocess.run([ROOT / "build" / "benchmarks" / "first_sample", f"{folder}/a.lead"],
                                   check=True, capture_output=True, text=True).stdout
        return int(first) / 1e9 - begun

    def report_s(self, record):
        """Seconds that `leadline report` takes."""
        begun = time.monotonic()
        subprocess.run([self.executable, "report", record], check=True, capture_output=True)
        return time.monotonic() - begun


# ---- peers -----------------------------------------------------------------------------------------------------


class PySpy:
    """Stops the program for each sample, so it cannot be gated."""

    name = "py-spy"
    is_gateable = False
    rates = {"max": "20000"}  # it knows no "as fast as can be"

    def __init__(self):
        self.executable = interpreters.cache() / "peers" / "bin" / "py-spy"

    def missing(self, place):
        if place.python.root != "/":
            return "not in another root"
        if self.executable.exists():
            return None
        folder = self.executable.parent.parent
        made = subprocess.run(f"/usr/bin/python3 -m venv '{folder}' && '{folder}/bin/pip' install -q {PY_SPY}",
                              shell=True, capture_output=True, text=True)
        return None if made.returncode == 0 else f"cannot be installed: {made.stderr.strip()[-200:]}"

    def record(self, place, rate, program, *args):
        hz = self.rates.get(rate) or str(in_hz(rate))
        with tempfile.NamedTemporaryFile() as out:
            r = watch([str(self.executable), "record", "--rate", hz, "--format", "raw", "--output", out.name, "--",
                       *place.command(program, *args)])
            r.stacks = truth.parse_collapsed(open(out.name).read())
            r.bytes = os.path.getsize(out.name)
        r.samples, errors = map(int, re.search(r"Samples: (\d+) Errors: (\d+)", r.said).groups())
        marks = r.program.get("marks")
        r.rate_hz = r.samples / (marks[-1][0] - marks[0][0]) if marks else None
        r.lost = errors / max(r.samples + errors, 1)
        return r


class Sampling:
    """`python3.15 -m profiling.sampling`, in its root with a /proc of its own. It tells names without their class."""

    name = "3.15 sampler"
    is_gateable = True
    rates = {"max": "1000000"}

    def missing(self, place):
        return None if place.python.label == "3.15" else "looks at 3.15 only"

    def record(self, place, rate, program, *args, is_gated=False):
        hz = self.rates.get(rate) or str(in_hz(rate))
        threads = ["-a"] if program == "threads.py" else []
        script = ["-m", "profiling.sampling", "run", *threads, "-r", hz, "--collapsed", "-o", place.inside("sampling.txt"),
                  place.inside(program), *map(str, args)]
        enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
        r = watch(["unshare", "--mount", "sh", "-c", enter, place.python.root, place.python.exe, *script], is_gated)
        for line in (place.folder / "sampling.txt").read_text().splitlines():
            frames, _, count = line.rpartition(" ")
            parts = [f.rsplit(":", 2) for f in frames.split(";")[1:]]  # file:name:line, or <GC>
            names = tuple(f[1] if len(f) == 3 else f[0] for f in parts)
            r.stacks[names] = r.stacks.get(names, 0) + int(count)
        r.samples = int(re.search(r"Captured (\d+) samples", r.said)[1])
        r.rate_hz = float(re.search(r"Sample rate: ([\d.]+)", r.said)[1])
        error = re.search(r"Error rate: ([\d.]+)", r.said)
        r.lost = float(error[1]) / 100 if error else 0.0
        return r


def in_hz(rate):
    return int(float(rate[:-1]) * 1000) if rate.endswith("k") else int(rate)
