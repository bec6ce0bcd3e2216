"""The sampler where threads and processes come and go: the programs of tests/edges, each held against its own clock.

    python benchmarks/edges.py [--only NAME,…] [--python LABEL|PATH,…] [--ways root,user,namespace,attach] [--loads 0,4]
                               [--times N] [--cpus N] [--seconds N] [--peers none] [--tool FILE] [--json FILE]

Ways: as root; as an ordinary user; in a pid namespace, where no connector tells of processes; attached to. Loads: programs that compute
beside it. A row for each function: its true seconds, those shown with their interval; what py-spy shows, where it is installed; then
what the books of the recording lack. FAIL: the truth lies outside of the interval and what its clock leaves open, or a bar of the
books is missed. The last line is the sum; the exit status is 1 where a row fails or none was run.

All of it, leadline and the load too, has two CPUs (--cpus), so that a load of 4 means the same on every machine. A Python alone is
enough to run this: --python takes an interpreter's path, and what needs a compiler, greenlet or py-spy is left out where there is none.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "benchmarks")]  # there is an edges.py in both

try:
    import pytest
except ImportError:  # what the modules below need of it, for a machine that has nothing but Python
    class Skipped(Exception):
        pass

    def skip(reason):
        raise Skipped(reason)

    skip.Exception = Skipped
    pytest = types.ModuleType("pytest")
    pytest.skip, pytest.mark = skip, types.SimpleNamespace(skipif=lambda *args, **kwargs: None)
    sys.modules["pytest"] = pytest

import edges  # noqa: E402
import interpreters  # noqa: E402

PEER_HZ = 1000


def py_spy(label, edge):
    """{function: (true CPU seconds, those shown)} as py-spy sees a run of its own, threads that wait left out; {} where it cannot."""
    import tools
    import truth
    executable = tools.PySpy().executable
    if interpreters.require(label).root != "/" or edge.stops:
        return {}
    with edges.place(edge, label) as (folder, _), tempfile.NamedTemporaryFile() as out:
        done = subprocess.run([executable, "record", "--subprocesses", "--rate", str(PEER_HZ), "--format", "raw", "--output", out.name, "--",
                               *interpreters.require(label).command(str(folder / edge.file), str(folder / "truth.json"))],
                              capture_output=True, text=True, timeout=edges.SECONDS)
        if done.returncode or not (folder / "truth.json").exists():
            return {}
        # a name may hold a line break: what then has no count is no stack
        lines = [line for line in pathlib.Path(out.name).read_text().splitlines() if line.rpartition(" ")[2].isdigit()]
        stacks = truth.parse_collapsed("\n".join(lines))
        told = json.loads((folder / "truth.json").read_text())["functions"]
    return {name: (told[name]["cpu_s"], sum(n for names, n in stacks.items() if name in names) / PEER_HZ) for name in edge.cpu}


def lacks(label, edge):
    """What keeps the edge from being run here; "" nothing."""
    if edge.library and not shutil.which("cc"):
        return "no C compiler"
    if edge.module and "/" in label:
        return f"{edge.module} is not looked for beside an interpreter given by its path"
    return ""


def share(part, whole):
    return f"{part / whole:6.1%}" if whole > 0 else "     –"


class Bench:
    """Runs cells, prints them and keeps a sum for each way."""

    def __init__(self, options):
        self.options = options
        self.rows = []
        self.n_left_out = 0
        self.held, self.all = collections.Counter(), collections.Counter()
        self.worst = collections.defaultdict(lambda: {"not_seen": 0.0, "late": 0.0})

    def judge(self, way, what, is_held):
        self.all[way] += 1
        self.held[way] += is_held
        return "PASS" if is_held else "FAIL"

    def leave_out(self, way, label, edge, why):
        self.n_left_out += 1
        print(f"     {way:16} {label:6} {edge.name:15} left out: {why}", flush=True)

    def run_one(self, way, label, edge):
        why = lacks(label, edge)
        if why:
            self.leave_out(way, label, edge, why)
            return
        try:
            run = edges.record(self.options.tool, label, edge, way.split()[0])
        except (pytest.skip.Exception, LookupError) as e:
            self.leave_out(way, label, edge, e)
            return
        except (RuntimeError, OSError, subprocess.SubprocessError) as e:
            print(f"{self.judge(way, edge.name, False)} {way:16} {label:6} {edge.name:15} {str(e).splitlines()[0][:100]}", flush=True)
            return
        peer = py_spy(label, edge) if self.options.peers == "all" else {}
        whole = run.truth["cpu_s"]
        for cell in edges.cells(run):
            name, _, clock = cell.what.partition(" ")
            beside = f"  py-spy {share(peer[name][1], peer[name][0])}" if clock == "cpu" and name in peer else ""
            of = f" ({share(cell.true, whole).strip()} of CPU)" if clock == "cpu" else ""
            print(f"{self.judge(way, cell.what, cell.is_held)} {way:16} {label:6} {edge.name:15} {cell.what:14} true {cell.true:8.3f} s{of}, shown "
                  f"{cell.shown:8.3f} s ({cell.low:.3f} … {cell.high:.3f}), {share(cell.shown, cell.true).strip()} of it{beside}", flush=True)
            self.rows.append({"way": way, "python": label, "edge": edge.name, "peer": peer.get(name), **vars(cell), "is_held": cell.is_held})
        self.tell_books(way, label, edge, run)

    def tell_books(self, way, label, edge, run):
        books = edges.books(run.wall)
        if not books:
            print(f"     {way:16} {label:6} {edge.name:15} kernel {run.truth['cpu_s']:.3f} s; the report has no books", flush=True)
            return
        cpu, wall = books["cpu"], books["wall"]
        not_seen, late = cpu["not_seen_s"] / max(cpu["kernel_s"], 1e-9), wall["late_s"] / max(wall["threads_s"], 1e-9)
        worst = self.worst[way]
        worst["not_seen"], worst["late"] = max(worst["not_seen"], abs(not_seen)), max(worst["late"], late * (edge.stops != "both"))
        missed = [b for b in edges.bars(run) if not b.is_held]
        for bar in edges.bars(run):
            self.judge(way, bar.what, bar.is_held)
        n_threads = "unknown" if books["threads_not_seen"] is None else books["threads_not_seen"]
        print(f"{'FAIL' if missed else 'PASS'} {way:16} {label:6} {edge.name:15} not seen {not_seen:.1%} of {cpu['kernel_s']:.3f} s of CPU, late "
              f"{late:.1%} of {wall['threads_s']:.1f} s of threads, {n_threads} of {run.truth['threads']} threads not seen (by "
              f"{books['evidence']}){''.join(f'; {b.what} {b.value:.4g}, not {b.low:.4g} … {b.high:.4g}' for b in missed)}", flush=True)
        self.rows.append({"way": way, "python": label, "edge": edge.name, "books": books, "missed": [vars(b) for b in missed]})

    def run_all(self):
        """In turn, as long as there is time."""
        began = time.monotonic()
        for processes in self.options.loads:
            with edges.load(processes) if processes else contextlib.nullcontext():
                for way in self.options.ways:
                    for label in self.options.python:
                        for name in self.options.only * self.options.times:
                            if self.options.seconds and time.monotonic() - began > self.options.seconds:
                                self.n_left_out += 1
                                continue
                            self.run_one(f"{way} load {processes}" if processes else way, label, edges.EDGES[name])

    def run(self):
        try:
            self.run_all()
        finally:
            if self.options.json:
                pathlib.Path(self.options.json).write_text(json.dumps(self.rows, indent=1))
        for way, n in self.all.items():
            worst = self.worst.get(way)
            told = f"; at worst {worst['not_seen']:.1%} not seen, {worst['late']:.1%} late" if worst else ""
            print(f"{way}: {self.held[way]} of {n} held{told}")
        held, n = sum(self.held.values()), sum(self.all.values())
        print(f"all: {held} of {n} held; {self.n_left_out} runs left out")
        return int(held != n or not n)


def words(known, takes_paths=False):
    """An option with some of these words, or paths, by commas."""
    def parse(text):
        chosen = text.split(",")
        unknown = [w for w in chosen if w not in known and not (takes_paths and "/" in w)]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return chosen
    return parse


def keep_to(n_cpus):
    """Us, and with us all that we start."""
    allowed = sorted(os.sched_getaffinity(0))
    if 0 < n_cpus < len(allowed):
        os.sched_setaffinity(0, allowed[:n_cpus])
        print(f"  on CPUs {', '.join(map(str, allowed[:n_cpus]))} of {len(allowed)}")


def peer_is_missing(label):
    """Why py-spy cannot be run; "" it can."""
    try:
        import tools
        place = tools.Place(interpreters.require(label))
    except (ImportError, LookupError) as e:
        return str(e)
    try:
        return tools.PySpy().missing(place) or ""
    finally:
        place.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=words(edges.EDGES), default=list(edges.EDGES), metavar="NAME,…")
    parser.add_argument("--python", type=words(interpreters.EXPECTED, takes_paths=True), default=list(interpreters.EXPECTED), metavar="LABEL|PATH,…")
    parser.add_argument("--ways", type=words(edges.WAYS), default=["root", "user", "namespace"] if os.geteuid() == 0 else ["root"], metavar="WAY,…")
    parser.add_argument("--loads", type=lambda text: [int(n) for n in text.split(",")], default=[0, 4], metavar="N,…")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="run each cell so often")
    parser.add_argument("--cpus", type=int, default=2, metavar="N", help="keep everything to so many CPUs; 0: all")
    parser.add_argument("--seconds", type=float, default=0, metavar="N", help="begin no run after that time")
    parser.add_argument("--peers", choices=["all", "none"], default="all")
    parser.add_argument("--tool", default=str(ROOT / "build" / "leadline"))
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if not os.access(options.tool, os.X_OK):
        parser.error(f"{options.tool} cannot be run: build it, or name another with --tool")
    keep_to(options.cpus)
    reason = peer_is_missing(options.python[0]) if options.peers == "all" else ""
    if reason:
        print(f"  without py-spy: {reason}")
        options.peers = "none"
    return Bench(options).run()


if __name__ == "__main__":
    sys.exit(main())
