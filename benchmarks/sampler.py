"""The sampler and its peers, side by side in one run: figures, the bars they are meant to reach, ratios.

    python benchmarks/sampler.py [--only NAME,…] [--python LABEL] [--seconds S] [--peers none] [--json FILE]

It measures and does not judge: a missed bar is marked with !, the exit status is 0. A peer's figure is followed by how
many times ours it is. The 3.15 sampler can look at 3.15 only: its figures are of the same programs there.
"""
import argparse
import importlib.util
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import paired  # noqa: E402
import tools  # noqa: E402
from tools import interpreters, truth  # noqa: E402

PAIRS_OF_RUNS = 3  # of a peer that cannot be gated; what it costs is no question of percents
ATTACHES = 5
REPORTS = 5


class Table:
    """Rows of figure, bar, ours and the peers', printed as they come and kept for JSON."""

    def __init__(self):
        self.rows = []
        print(f"  {'figure':36} {'bar':>9}  {'leadline':62} peers", flush=True)

    def add(self, figure, ours, bar=None, show="{:.2f}", is_floor=False, detail="", peers=None):
        """ours, peers: numbers, or Slowdown; bar: the most, or with is_floor the least, that is good enough."""
        value = number(ours)
        is_missed = bar is not None and value is not None and (value < bar if is_floor else value > bar)
        known = {name: p for name, p in (peers or {}).items() if p is not None}
        limit = "" if bar is None else ("≥ " if is_floor else "≤ ") + show.format(bar)
        beside = "; ".join(f"{name} {words(p, show)}{ratio(p, value)}" for name, p in known.items())
        row = f"{'!' if is_missed else ' '} {figure:36} {limit:>9}  {words(ours, show) + detail:62} {beside}"
        print(row.rstrip(), flush=True)
        self.rows.append({"figure": figure, "bar": bar, "missed": is_missed, "ours": plain(ours), "detail": detail.strip(" ,"),
                          "peers": {name: plain(p) for name, p in known.items()}})


def number(v):
    return getattr(v, "median", v)


def words(v, show):
    return "unknown" if v is None else str(v) if hasattr(v, "median") else show.format(v)


def plain(v):
    return vars(v) if hasattr(v, "median") else v


def ratio(peer, ours):
    """How many times ours the peer's figure is; nothing to say where ours is not above the noise."""
    return f" ({number(peer) / ours:.1f}×)" if ours and ours > 0.001 and number(peer) > 0 else ""


def inclusive(stacks, name, below):
    """The share of one function in the samples of another."""
    within = truth.stacks_from(stacks, below)
    return sum(count for names, count in within.items() if name in names) / sum(within.values())


def short(name):
    return name.rpartition(".")[2]


# ---- figures -----------------------------------------------------------------------------------------------------


class Bench:
    """The methods named in FIGURES are the parts of the benchmark."""

    def __init__(self, options):
        self.seconds, self.is_apart = options.seconds, options.apart
        self.places = {}
        self.place = self.place_of(interpreters.require(options.python))
        self.ours = tools.Leadline(options.tool)
        self.table = Table()
        self.peers = []  # (tool, where it looks)
        if options.peers == "all":
            newest = interpreters.load().get("3.15")
            for peer, place in ((tools.PySpy(), self.place), (tools.Sampling(), newest and self.place_of(newest))):
                reason = peer.missing(place) if place else "python 3.15 is missing: run tools/interpreters"
                if reason:
                    print(f"  without {peer.name}: {reason}")
                else:
                    self.peers.append((peer, place))

    def place_of(self, python):
        if python not in self.places:
            self.places[python] = tools.Place(python, self.is_apart)
        return self.places[python]

    def training_place(self):
        """Where torch is, or None."""
        python = interpreters.Interpreter("venv", "/", sys.executable, "with torch")
        if importlib.util.find_spec("torch") is None:
            print("  without the training: torch is not installed")
            return None
        return self.place_of(python)

    def steady(self, rate, program="flutter.py", *args, **kwargs):
        return self.ours.record(self.place, rate, program, self.seconds, *args, **kwargs)

    def add_slowdown(self, figure, r, bar=None, peers=None):
        """A row of a gated run."""
        if not r.slowdown or not r.by_loop:
            raise RuntimeError("too few pairs of windows: let it run for longer, or on a quieter machine")
        estimate = r.report.get("fidelity", {}).get("slowdown_share")
        said = f" (it says {estimate:.1%})" if estimate is not None else ""
        detail = f"{said}, {r.slowdown.pairs} pairs; a busy loop {r.by_loop.median:.1%}"
        self.table.add(figure, r.slowdown, bar, "{:.1%}", detail=detail, peers=peers)

    def peer_runs(self, rate, program, *args):
        """{name: Recorded} of each peer that can be had."""
        found = {}
        for peer, place in self.peers:
            try:
                found[peer.name] = peer.record(place, rate, program, *args)
            except RuntimeError as e:
                print(f"  {peer.name} fails: {e}")
        return found

    def peer_slowdowns(self, rate, program, *args):
        found = {}
        for peer, place in self.peers:
            if peer.is_gateable:
                found[peer.name] = peer.record(place, rate, program, self.seconds, *args, is_gated=True).slowdown
            else:
                run = [program, 2, *args]
                found[peer.name] = paired.runs(lambda: tools.alone(place, *run).program["units_per_s"],
                                               lambda: peer.record(place, rate, *run).program["units_per_s"], PAIRS_OF_RUNS)
        return found

    def control(self):
        """What the slow-downs are worth: the same arithmetic with no tool."""
        self.add_slowdown("control: slow-down by nothing", tools.alone(self.place, "flutter.py", self.seconds, is_gated=True))

    def slowdown(self):
        """The share of flutter's speed that is lost."""
        for rate, bar in (("1k", None), ("10k", 0.03), ("max", None)):
            r = self.steady(rate, is_gated=True)
            self.add_slowdown(f"flutter {rate}: slow-down", r, bar,
                              self.peer_slowdowns(rate, "flutter.py") if rate != "max" else {})

    def flutter(self):
        """Rates, losses and shares on stacks that never stand still."""
        runs = {rate: self.steady(rate) for rate in ("1k", "10k", "max")}
        for rate, r in runs.items():
            peers = self.peer_runs(rate, "flutter.py", min(self.seconds, 4)) if rate != "max" else {}
            self.flutter_rows(rate, r, peers)
        self.floor()
        self.same_shares(runs["1k"].report, runs["10k"].report)
        self.own_shares()

    def flutter_rows(self, rate, r, peers):
        add, is_barred = self.table.add, rate == "10k"
        if rate == "max":
            add("flutter max: fresh looks/s", r.rate_hz, 100e3, "{:.0f}", is_floor=True)
        else:
            asked = tools.in_hz(rate)
            add(f"flutter {rate}: rate reached/asked", r.rate_hz / asked, 0.95 if is_barred else None, "{:.1%}", is_floor=True,
                peers={n: p.rate_hz / asked for n, p in peers.items()})
        add(f"flutter {rate}: lost", r.lost, 0.001 if is_barred else None, "{:.3%}", peers={n: p.lost for n, p in peers.items()})
        add(f"flutter {rate}: lost + shortened", r.lost + r.shortened, 0.01 if is_barred else None, "{:.3%}")
        share, of = self.impossible(self.place, r.stacks)
        is_heap = self.place.python.label in ("3.8", "3.9", "3.10")  # frames on the heap
        add(f"flutter {rate}: impossible stacks", share, 0.01 if is_heap else 0.0002, "{:.4%}", detail=f" of {of}",
            peers={p.name: self.impossible(place, peers[p.name].stacks)[0] for p, place in self.peers if p.name in peers})
        add(f"flutter {rate}: own CPU, of a core", r.own_cpu, 0.03 if rate == "1k" else None, "{:.1%}",
            detail=f" (it says {r.report['fidelity']['own_cpu_s'] / r.report['wall_s']:.1%})",
            peers={n: p.own_cpu for n, p in peers.items()})

    def floor(self):
        """What a thousand looks a second cost on this machine when there is nothing to look at."""
        said = subprocess.run([tools.ROOT / "build" / "benchmarks" / "sleep_floor", "3"], capture_output=True, text=True, check=True)
        sleeping, copying = map(float, said.stdout.split())
        self.table.add("floor: sleeping at 1k, of a core", sleeping, None, "{:.1%}", detail=f" (with one copy of a page {copying:.1%})")

    def impossible(self, place, stacks):
        """The share of impossible stacks below unit(), and of how many; without classes, which not all tools tell."""
        pairs = {tuple(map(short, p)) for p in place.legal_pairs("flutter.py", "0.3")}
        bare = {}
        for names, count in truth.stacks_from(stacks, "unit").items():
            names = tuple(map(short, names))
            bare[names] = bare.get(names, 0) + count
        return truth.impossible(bare, pairs), sum(bare.values())

    def same_shares(self, slow, fast):
        """Functions with 0.5 % and more of self time whose shares at the two rates differ by more than both intervals allow."""
        of = [{f["name"]: [f[k] / r["wall_s"] for k in ("self", "self_low", "self_high")] for f in r["functions"]}
              for r in (slow, fast)]
        names = [n for n, (share, _, _) in of[0].items() if share > 0.005 and n in of[1]]
        apart = [n for n in names if abs(of[0][n][0] - of[1][n][0]) > math.hypot(*((o[n][2] - o[n][1]) / 2 for o in of))]
        told = ", ".join(f"{n} {of[0][n][0]:.1%} → {of[1][n][0]:.1%}" for n in apart)
        self.table.add("flutter: shares at 10k unlike 1k", len(apart), 1, "{:.0f}", detail=f" of {len(names)} functions {told}")

    def own_shares(self):
        """Shares as told and as the program measures them itself, and how much looks change the latter."""
        alone = tools.alone(self.place, "flutter.py", self.seconds, "clocked").program["truth"]
        for rate in ("1k", "10k"):
            r = self.steady(rate, "flutter.py", "clocked")
            true, told = r.program["truth"], truth.told_parts(r.stacks, alone)
            detail = " (" + ", ".join(f"{n} {told[n]:.1%}, by its clock {true[n]:.1%}, alone {alone[n]:.1%}" for n in ("deep", "fib")) + ")"
            self.table.add(f"flutter {rate}: told − by its clock", max(abs(told[n] - true[n]) for n in alone), None, "{:.1%}", detail=detail)

    def threads(self):
        """200 threads that wait beside one that works; and 200 that work in turn."""
        for rate, slow_bar, cpu_bar in (("100", 0.01, 0.03), ("1k", 0.03, 0.25)):
            peers = self.peer_slowdowns(rate, "threads.py", "idle") if rate == "100" else {}
            self.add_slowdown(f"200 idle {rate}: slow-down", self.steady(rate, "threads.py", "idle", is_gated=True), slow_bar, peers)
            r = self.steady(rate, "threads.py", "idle")
            peers = self.peer_runs(rate, "threads.py", 3, "idle") if rate == "100" else {}
            self.table.add(f"200 idle {rate}: own CPU, of a core", r.own_cpu, cpu_bar, "{:.1%}",
                           peers={n: p.own_cpu for n, p in peers.items()})
            self.table.add(f"200 idle {rate}: lost", r.lost, None, "{:.3%}", peers={n: p.lost for n, p in peers.items()})

    def turns(self):
        """Each thread's share where 200 work in turn: the worst, in standard deviations that its count allows."""
        for rate in ("100", "1k"):
            r = self.steady(rate, "threads.py", "turns")
            self.turn_rows(f"200 in turn {rate}", r, self.peer_runs(rate, "threads.py", 4, "turns") if rate == "100" else {})

    def turn_rows(self, name, r, peers):
        truth_s, weights = r.program["truth"], {f["name"]: f["self"] for f in r.report["functions"]}
        told = {n: weights.get(n, 0) for n in truth_s}
        ours = thread_errors(told, truth_s, sum(counts_in(r.stacks, truth_s).values()))
        beside = {}
        for peer, p in peers.items():
            counts = counts_in(p.stacks, p.program["truth"])
            beside[peer] = thread_errors(counts, p.program["truth"], sum(counts.values()))
        self.table.add(f"{name}: worst thread, sd", ours[0], 4, "{:.1f}", peers={n: b[0] for n, b in beside.items()})
        self.table.add(f"{name}: spread, 1 = chance", ours[1], 1.5, "{:.2f}", peers={n: b[1] for n, b in beside.items()})
        self.table.add(f"{name}: samples in turns", ours[2], None, "{:.0f}", peers={n: b[2] for n, b in beside.items()})
        self.table.add(f"{name}: all turns, told/true", sum(told.values()) / sum(truth_s.values()), None, "{:.3f}")

    def programs(self):
        """Slow-down and losses at 1 kHz on ordinary code: the standard library compiling, a training in torch."""
        for place, program in ((self.place, "compiling.py"), (self.training_place(), "training.py")):
            if not place:
                continue
            name = program.partition(".")[0]
            self.add_slowdown(f"{name} 1k: slow-down", self.ours.record(place, "1k", program, self.seconds, is_gated=True))
            r = self.ours.record(place, "1k", program, self.seconds)
            self.table.add(f"{name} 1k: lost + shortened", r.lost + r.shortened, None, "{:.3%}")
            self.table.add(f"{name} 1k: own CPU, of a core", r.own_cpu, 0.03, "{:.1%}")

    def recording(self):
        """Bytes per sample in the file at 1 kHz; meant for --seconds 60, when the tables weigh little."""
        for place, program in ((self.place, "flutter.py"), (self.training_place(), "training.py")):
            if place:
                r = self.ours.record(place, "1k", program, self.seconds)
                self.table.add(f"{program.partition('.')[0]} 1k: bytes/sample", r.bytes / r.samples, 3,
                               detail=f" of {r.samples} samples")

    def report(self):
        """How fast a recording of a training is reported; with --seconds 60 it has as many samples as 10 minutes at 1 kHz."""
        place = self.training_place()
        if place:
            keep = str(place.folder / "large.lead")
            r = self.ours.record(place, "10k", "training.py", self.seconds, keep=keep)
            took = statistics.median(self.ours.report_s(keep) for _ in range(REPORTS))
            self.table.add("training: report, s", took, 0.3, "{:.3f}", detail=f" of {r.samples} samples, {r.bytes / 1e6:.1f} MB")

    def attach(self):
        """From the start of the command to the first sample."""
        program = subprocess.Popen(self.place.command("flutter.py", 60), stdout=subprocess.DEVNULL)
        try:
            time.sleep(0.5)  # it imports
            took = sorted(self.ours.attach(program.pid, 0.3) for _ in range(ATTACHES))
        finally:
            program.kill()
            program.wait()
        self.table.add("attach to first sample, ms", statistics.median(took) * 1e3, 50, "{:.1f}",
                       detail=f" ({took[0] * 1e3:.1f} … {took[-1] * 1e3:.1f})")

    def bias(self):
        """The share of short calls as told, less the share as the program itself measured it."""
        def error(r):
            return inclusive(r.stacks, "fib", "loop") - r.program["short"]
        for rate in ("1k", "10k", "max"):
            r = self.steady(rate, "bias.py")
            peers = self.peer_runs(rate, "bias.py", 4) if rate == "1k" else {}
            self.table.add(f"bias {rate}: told − true", abs(error(r)), 0.03, "{:.3f}",
                           detail=f" ({error(r):+.3f}; true {r.program['short']:.3f})",
                           peers={n: abs(error(p)) for n, p in peers.items()})

    def close(self):
        for place in self.places.values():
            place.remove()


def counts_in(stacks, names):
    """Samples in which each of these functions is."""
    return {name: sum(count for stack, count in stacks.items() if name in stack) for name in names}


def thread_errors(told, true, samples):
    """told, true: {name: amount}. The worst difference in standard deviations of so many samples, the mean square of
    all, and the samples."""
    all_told, all_true = sum(told.values()), sum(true.values())
    if not samples or not all_told:
        return None, None, 0
    off = []
    for name in true:
        p = true[name] / all_true
        off.append(abs(told[name] / all_told - p) / math.sqrt(p * (1 - p) / samples))
    return max(off), statistics.mean(x * x for x in off), samples


FIGURES = ("control", "slowdown", "flutter", "threads", "turns", "programs", "recording", "report", "attach", "bias")


def busy_s():
    """CPU seconds used on the whole machine, and by this process and those it has waited for."""
    ticks = list(map(int, open("/proc/stat").readline().split()[1:9]))
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), sum(u.ru_utime + u.ru_stime for u in own)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(FIGURES), help=f"of {', '.join(FIGURES)}; several with commas")
    parser.add_argument("--python", default="3.11", help="label of an interpreter of tools/interpreters (else 3.11)")
    parser.add_argument("--seconds", type=float, default=12, help="each program runs so long under leadline (else 12)")
    parser.add_argument("--tool", default=str(tools.ROOT / "build" / "leadline"), help="the leadline to measure")
    parser.add_argument("--apart", action="store_true", help="the program on one CPU, the tools on the others")
    parser.add_argument("--peers", choices=("all", "none"), default="all")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON")
    return parser.parse_args()


def main():
    options = parse_options()
    cpus = os.sched_getaffinity(0)
    if options.apart:
        os.sched_setaffinity(0, cpus - {min(cpus)})
    bench = Bench(options)
    print(f"  {len(cpus)} CPUs, Python {bench.place.python.version}, {options.seconds:g} s each")
    begun, (all_before, own_before) = time.monotonic(), busy_s()
    try:
        for name in options.only.split(","):
            try:
                getattr(bench, name)()
            except (RuntimeError, subprocess.CalledProcessError) as e:
                print(f"! {name}: not measured: {e}")
    finally:
        bench.close()
    all_after, own_after = busy_s()
    others = (all_after - all_before - own_after + own_before) / (time.monotonic() - begun)
    print(f"  meanwhile other programs used {max(others, 0):.2f} CPUs")
    if options.json:
        json.dump({"python": bench.place.python.version, "cpus": len(cpus), "others_cpus": others, "rows": bench.table.rows},
                  open(options.json, "w"), indent=1)


if __name__ == "__main__":
    main()
