#!/usr/bin/env python3
"""Records each kind of recording that a leadline can make: `record.py BINARY PACKAGE PREFIX OUTDIR [KIND…]` (as root).

BINARY and PACKAGE (the folder that holds the Python package `leadline`) are of the version to keep; the files become
OUTDIR/PREFIX-KIND.lead. A kind that this version does not know is left out, and that is told. Programs run in FOLDER, with interpreters
that links under /opt name, so that no path in a recording is one of the machine it was made on.
"""
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path("/srv/old")
PYTHON = "/opt/python3.13/bin/python3.13"
OLD_PYTHON = "/opt/python3.9/bin/python3.9"
TORCH_PYTHON = "/opt/venv/bin/python"
TRACE = HERE.parent / "torch" / "mlp_plain.pt.trace.json.gz"


class Recorder:
    """One version."""

    def __init__(self, binary, package):
        shutil.copy(binary, FOLDER / "leadline")
        self.binary = str(FOLDER / "leadline")
        shutil.rmtree(FOLDER / "lib", ignore_errors=True)
        if pathlib.Path(package).is_dir():
            shutil.copytree(package, FOLDER / "lib", ignore=shutil.ignore_patterns("__pycache__"))
        self.env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color", "HOME": str(FOLDER), "PYTHONPATH": str(FOLDER / "lib"), "LEADLINE_BINARY": self.binary, "PYTHONDONTWRITEBYTECODE": "1"}

    def path(self, kind, suffix=".lead"):
        return FOLDER / f"{kind}{suffix}"

    def start(self, *command, **kwargs):
        return subprocess.Popen([str(word) for word in command], cwd=FOLDER, env=self.env, **kwargs)

    def do(self, *command):
        done = subprocess.run([str(word) for word in command], cwd=FOLDER, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stderr.strip()

    def tool(self, *args):
        return self.do(self.binary, *args)

    def run(self, kind, *args, python=PYTHON, source=False):
        """Most are made without the text of sources, which is most of a short recording."""
        knows = "--no-source" in subprocess.run([self.binary, "help", "run"], capture_output=True, text=True, check=False).stdout
        return self.tool("run", "-o", self.path(kind), *(["--no-source"] if knows and not source else []), "--python", python, *args)

    def watched(self, program, command):
        """A command about a process that runs already."""
        with self.start(PYTHON, program, 5, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            try:
                return command(program.pid)
            finally:
                program.kill()

    def top(self, pid):
        master, slave = pty.openpty()
        with self.start(self.binary, "top", "-o", self.path("top"), pid, stdin=slave, stdout=slave, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            threading.Thread(target=drain, args=(master,), daemon=True).start()
            time.sleep(0.4)
            if process.poll() is None:
                os.write(master, b"q")
            time.sleep(0.8)
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            return process.wait(), process.stderr.read()


def drain(master):
    try:
        while os.read(master, 65536):
            pass
    except OSError:
        pass


def imported(r, kind, of, suffix):
    """A recording written as another tool's file and read again."""
    between = FOLDER / f"between{suffix}"
    between.unlink(missing_ok=True)
    code, said = r.tool("export", r.path(of), "-o", between)
    return (code, said) if code else r.tool("export", between, "-o", r.path(kind))


KINDS = {
    "time": lambda r: r.tool("time", "-o", r.path("time"), "/usr/bin/python3", "orders.py"),
    "sampled": lambda r: r.run("sampled", "--rate", 250, "orders.py"),
    "sampled-3.9": lambda r: r.run("sampled-3.9", "--rate", 250, "orders.py", python=OLD_PYTHON),
    "tasks": lambda r: r.watched("tasks.py", lambda pid: r.tool("attach", "-d", 0.15, "--no-source", "-o", r.path("tasks"), pid)),
    "attach": lambda r: r.watched("turns.py", lambda pid: r.tool("attach", "-d", 0.15, "-o", r.path("attach"), pid)),
    "top": lambda r: r.watched("turns.py", r.top),
    "traced": lambda r: r.run("traced", "--trace", "calls.py"),
    "traced-3.9": lambda r: r.run("traced-3.9", "--trace", "calls.py", python=OLD_PYTHON),
    "count": lambda r: r.run("count", "--count", "calls.py"),
    "count-lines-opcodes": lambda r: r.run("count-lines-opcodes", "--count=lines,opcodes", "--lines=calls.py", "calls.py", source=True),
    "timeline": lambda r: r.run("timeline", "--trace=timeline", "calls.py"),
    "budget": lambda r: r.run("budget", "--budget=10%", "often.py", source=True),
    "lines": lambda r: r.run("lines", "--lines=calls.py", "calls.py", source=True),
    "traced-sampled": lambda r: r.run("traced-sampled", "--trace", "--rate", 500, "--sample", "often.py"),
    "traced-lines": lambda r: r.run("traced-lines", "--trace", "--lines=calls.py", "calls.py", source=True),
    "args": lambda r: r.run("args", "--args", "same.py", source=True),
    "regions": lambda r: r.run("regions", "--rate", 50, "spans.py"),
    "training": lambda r: r.run("training", "--rate", 50, "training.py"),
    "inside-sample": lambda r: r.do(PYTHON, "inside.py", "sample", r.path("inside-sample")),
    "inside-trace": lambda r: r.do(PYTHON, "inside.py", "trace", r.path("inside-trace")),
    "inside-lines": lambda r: r.do(PYTHON, "inside.py", "lines", r.path("inside-lines")),
    "torch": lambda r: r.run("torch", "--rate", 1, "--torch", "net.py", python=TORCH_PYTHON),
    "torch-lines": lambda r: r.run("torch-lines", "--lines=step", "--torch", "net.py", python=TORCH_PYTHON),
    "torch-full": lambda r: r.run("torch-full", "--rate", 1, "--torch=full", "net.py", python=TORCH_PYTHON),
    "torch-trace": lambda r: r.tool("export", TRACE, "-o", r.path("torch-trace")),
    "imported-collapsed": lambda r: imported(r, "imported-collapsed", "sampled", ".folded"),
    "imported-pstats": lambda r: imported(r, "imported-pstats", "traced", ".prof"),
    "imported-lprof": lambda r: imported(r, "imported-lprof", "lines", ".lprof"),
    "imported-pprof": lambda r: imported(r, "imported-pprof", "sampled", ".pb.gz"),
    "bench": lambda r: r.tool("bench", "--python", PYTHON, "-n", 2000, "-r", 5, "-o", r.path("bench"), "sum(range(100))", "sorted(range(100))"),
    "bench-processes": lambda r: r.tool("bench", "--python", PYTHON, "--processes", 3, "--time", 0.4, "-o", r.path("bench-processes"), "sum(range(100))"),
    "bench-json": lambda r: r.tool("bench", "--python", PYTHON, "--processes", 3, "--time", 0.4, f"--json={r.path('bench-json', '.json')}", "sum(range(100))"),
}


def main():
    binary, package, prefix, out, *kinds = sys.argv[1:]
    FOLDER.mkdir(exist_ok=True)
    for program in (HERE / "programs").iterdir():
        shutil.copy(program, FOLDER)
    recorder = Recorder(binary, package)
    for kind in kinds or KINDS:
        for suffix in (".lead", ".json"):
            recorder.path(kind, suffix).unlink(missing_ok=True)
        status, said = KINDS[kind](recorder)
        made = [path for path in (recorder.path(kind), recorder.path(kind, ".json")) if path.exists()]
        if status != 0:
            for path in made:
                path.unlink()
            print(f"{kind}: not made (status {status}): {said[-200:].splitlines()[0] if said else ''}", flush=True)
        else:
            print(f"{kind}: {sum(path.stat().st_size for path in made)} bytes", flush=True)
    for kind in kinds or KINDS:
        for suffix in (".lead", ".json"):
            if recorder.path(kind, suffix).exists():
                shutil.move(recorder.path(kind, suffix), pathlib.Path(out) / f"{prefix}-{kind}{suffix}")


main()
