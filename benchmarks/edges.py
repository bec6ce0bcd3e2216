"""The sampler where threads and processes come and go: the programs of tests/edges, each held against its own clock.

    python benchmarks/edges.py [--only NAME,…] [--python LABEL,…] [--ways root,user,namespace,attach] [--loads 0,4]
                               [--times N] [--peers none] [--tool FILE] [--json FILE]

Ways: as root; as an ordinary user; in a pid namespace, where no connector tells of processes; attached to. Loads: programs that compute
beside it. A row for each function: its true seconds, those shown with their interval; what py-spy shows, where it is installed; then
what the books of the recording lack. FAIL: the truth lies outside of the interval and what its clock leaves open, or a bar of the
books is missed. The exit status is that of the sum: 1 where a cell fails.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "benchmarks")]  # there is an edges.py in both

import edges  # noqa: E402
import interpreters  # noqa: E402
import tools  # noqa: E402
import truth  # noqa: E402

PEER_HZ = 1000


def py_spy(label, edge):
    """{function: (true CPU seconds, those shown)} as py-spy sees a run of its own, threads that wait left out; {} where it cannot."""
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


def share(part, whole):
    return f"{part / whole:6.1%}" if whole > 0 else "     –"


class Bench:
    """Runs cells, prints them and keeps a sum for each way."""

    def __init__(self, options):
        self.options = options
        self.rows = []
        self.held, self.all = collections.Counter(), collections.Counter()
        self.worst = collections.defaultdict(lambda: {"not_seen": 0.0, "late": 0.0})

    def judge(self, way, what, is_held):
        self.all[way] += 1
        self.held[way] += is_held
        return "PASS" if is_held else "FAIL"

    def run_one(self, way, label, edge):
        try:
            run = edges.record(self.options.tool, label, edge, way.split()[0])
        except pytest.skip.Exception as e:
            print(f"     {way:16} {label:6} {edge.name:15} left out: {e}", flush=True)
            return
        except (RuntimeError, subprocess.SubprocessError) as e:
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
        print(f"{'FAIL' if missed else 'PASS'} {way:16} {label:6} {edge.name:15} not seen {not_seen:.1%} of {cpu['kernel_s']:.3f} s of CPU, late "
              f"{late:.1%} of {wall['threads_s']:.1f} s of threads, {books['threads_not_seen']} of {run.truth['threads']} threads not seen (by "
              f"{books['evidence']}){''.join(f'; {b.what} {b.value:.4g}, not {b.low:.4g} … {b.high:.4g}' for b in missed)}", flush=True)
        self.rows.append({"way": way, "python": label, "edge": edge.name, "books": books, "missed": [vars(b) for b in missed]})

    def run(self):
        for processes in self.options.loads:
            with edges.load(processes) if processes else contextlib.nullcontext():
                for way in self.options.ways:
                    for label in self.options.python:
                        for name in self.options.only:
                            for _ in range(self.options.times):
                                self.run_one(f"{way} load {processes}" if processes else way, label, edges.EDGES[name])
        for way, n in self.all.items():
            worst = self.worst.get(way)
            told = f"; at worst {worst['not_seen']:.1%} not seen, {worst['late']:.1%} late" if worst else ""
            print(f"{way}: {self.held[way]} of {n} held{told}")
        if self.options.json:
            pathlib.Path(self.options.json).write_text(json.dumps(self.rows, indent=1))
        return int(self.held != self.all)


def words(known):
    """An option with some of these words, by commas."""
    def parse(text):
        chosen = text.split(",")
        unknown = [w for w in chosen if w not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return chosen
    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=words(edges.EDGES), default=list(edges.EDGES), metavar="NAME,…")
    parser.add_argument("--python", type=words(interpreters.EXPECTED), default=list(interpreters.EXPECTED), metavar="LABEL,…")
    parser.add_argument("--ways", type=words(edges.WAYS), default=["root", "user", "namespace"] if os.geteuid() == 0 else ["root"], metavar="WAY,…")
    parser.add_argument("--loads", type=lambda text: [int(n) for n in text.split(",")], default=[0, 4], metavar="N,…")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="run each cell so often")
    parser.add_argument("--peers", choices=["all", "none"], default="all")
    parser.add_argument("--tool", default=str(ROOT / "build" / "leadline"))
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if options.peers == "all":
        place = tools.Place(interpreters.require("3.13"))
        reason = tools.PySpy().missing(place)
        place.remove()
        if reason:
            print(f"  without py-spy: {reason}")
            options.peers = "none"
    return Bench(options).run()


if __name__ == "__main__":
    sys.exit(main())
