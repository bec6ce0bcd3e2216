"""The sampler and its peers, side by side in one run: figures, the bars they are meant to reach, ratios.

    python benchmarks/sampler.py [--only NAME,…] [--python LABEL] [--seconds S] [--json FILE]

It measures and does not judge: a missed bar is marked with !, the exit status is 0.
"""
import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import tools  # noqa: E402
import truth  # noqa: E402


class Table:
    """Rows of figure, bar, ours and the peers', printed as they come and kept for JSON."""

    def __init__(self):
        self.rows = []
        print(f"  {'figure':34} {'bar':>10}  {'leadline':44} peers", flush=True)

    def add(self, figure, ours, bar=None, show="{:.2f}", is_floor=False, detail="", **peers):
        """ours, peers: numbers, or Slowdown; bar: the most, or with is_floor the least, that is good enough."""
        value = number(ours)
        is_missed = bar is not None and value is not None and (value < bar if is_floor else value > bar)
        known = {name.replace("_", "-"): p for name, p in peers.items() if p is not None}
        limit = "" if bar is None else ("≥ " if is_floor else "≤ ") + show.format(bar)
        beside = "; ".join(f"{name} {words(p, show)}{ratio(p, value)}" for name, p in known.items())
        print(f"{'!' if is_missed else ' '} {figure:34} {limit:>10}  {words(ours, show) + detail:44} {beside}", flush=True)
        self.rows.append({"figure": figure, "bar": bar, "missed": is_missed, "ours": plain(ours), "detail": detail.strip(),
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


# ---- figures -----------------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, options):
        self.seconds = options.seconds
        self.place = tools.Place(options.python, options.apart)
        self.ours = tools.Leadline(options.tool)
        self.table = Table()

    def steady(self, rate, program="flutter.py", *args):
        return self.ours.record(self.place, rate, program, self.seconds, *args)

    def gated(self, rate, program="flutter.py", *args):
        return self.ours.record(self.place, rate, program, self.seconds, *args, is_gated=True).slowdown

    def control(self):
        """No tool at all, by the same arithmetic: what the slow-downs below are worth."""
        self.table.add("control: slow-down by nothing", tools.alone(self.place, "flutter.py", self.seconds, is_gated=True).slowdown)

    def slowdown(self):
        """The share of flutter's speed that is lost."""
        for rate, bar in (("1k", None), ("10k", 0.03), ("max", None)):
            s = self.gated(rate)
            self.table.add(f"flutter {rate}: slow-down", s, bar, "{:.1%}", detail=f", {s.pairs} pairs")

    def flutter(self):
        """Rates, losses and shares on stacks that never stand still."""
        pairs = self.place.legal_pairs("flutter.py", "0.3")
        for rate in ("1k", "10k", "max"):
            r = self.steady(rate)
            is_barred = rate == "10k"
            stacks = truth.stacks_from(r.stacks, "unit")
            if rate == "max":
                self.table.add("flutter max: fresh looks/s", r.rate_hz, 100e3, "{:.0f}", is_floor=True)
            else:
                self.table.add(f"flutter {rate}: rate reached/asked", r.rate_hz / tools.in_hz(rate),
                               0.95 if is_barred else None, "{:.1%}", is_floor=True)
            self.table.add(f"flutter {rate}: lost", r.lost, 0.001 if is_barred else None, "{:.3%}")
            self.table.add(f"flutter {rate}: lost + shortened", r.lost + r.shortened, 0.01 if is_barred else None, "{:.3%}")
            self.table.add(f"flutter {rate}: impossible", truth.impossible(stacks, pairs), 0.0002, "{:.4%}",
                           detail=f" of {sum(stacks.values())}")
            self.table.add(f"flutter {rate}: own CPU", r.own_cpu, 0.03 if rate == "1k" else None, "{:.1%}",
                           detail=f" (says {r.report['fidelity']['own_cpu_s'] / r.report['wall_s']:.1%})")
            self.table.add(f"flutter {rate}: bytes/sample", r.bytes / r.samples, None, "{:.2f}")


FIGURES = ("control", "slowdown", "flutter")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(FIGURES), help=f"of {', '.join(FIGURES)}; several with commas")
    parser.add_argument("--python", default="3.11", help="label of an interpreter of tools/interpreters (else 3.11)")
    parser.add_argument("--seconds", type=float, default=14, help="each program runs so long (else 14)")
    parser.add_argument("--tool", default=str(tools.ROOT / "build" / "leadline"), help="the leadline to measure")
    parser.add_argument("--apart", action="store_true", help="the program on one CPU, the tools on the others")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON")
    options = parser.parse_args()
    bench = Bench(options)
    if options.apart:
        os.sched_setaffinity(0, os.sched_getaffinity(0) - {min(os.sched_getaffinity(0))})
    print(f"  {len(os.sched_getaffinity(0))} CPUs, Python {bench.place.python.version}, {options.seconds:g} s each")
    try:
        for name in options.only.split(","):
            getattr(bench, name)()
    finally:
        bench.place.remove()
    if options.json:
        json.dump({"python": bench.place.python.version, "rows": bench.table.rows}, open(options.json, "w"), indent=1)


if __name__ == "__main__":
    main()
