"""Corrected times of a traced run beside what the same program takes untraced, by its own clock.

    python benchmarks/times.py [--size N] [--rounds N] [--programs fitted|kept] [LABEL …]

phases.py runs plain, then under `leadline run --trace`, then plain again, in turn, and measures itself in pieces. How many times as long a phase took
traced is told by its quiet pieces, those in which the CPU ran at its full pace, of all plain runs and of the traced one; where a traced run had too few of
them, by all pieces, in units of a fixed piece of work beside each. The time as stamped, less what the phase waited for a CPU, divided by
that is the truth, in seconds of the traced run; no more than the time as stamped, as tracing makes nothing faster.

A cell is a phase of one traced run. `held`: the truth lies within the interval; `nearly`: it is off by no more than two plain runs of the same
program are (`A/A`: half of the cells differ by less, the truth's own error). `figures` are cells whose interval is narrow enough for the corrected time to be
shown as a figure, the others are shown as bounds. Goals: 90 % of all cells hold, the median half-width of figures is 15 % or less. The programs
that count are the kept ones: intervals were fitted on the others.
"""
import argparse
import json
import os
import subprocess
import tempfile
from statistics import median

from in_turn import HERE, LEADLINE, interpreters, recorded

PROGRAM = HERE / "phases.py"
QUIET = 1.15  # of the least time of the fixed work, at which the CPU is at its full pace
ENOUGH = 6  # quiet pieces
LEAST_SLOWER, SLOWER_SPREAD = 1.08, 1.8  # as analyze/calls/nodes.c allows for
HELD, HALF_WIDTH = 0.9, 0.15


def plain(command, env):
    return json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True).stdout)


def traced(command, env, folder):
    """What the program says, and what the report says of its functions."""
    recording = f"{folder}/x.lead"
    own = plain([LEADLINE, "run", "--trace", "--report=/dev/null", "-o", recording, "--", *command], env)
    said = json.loads(subprocess.run([LEADLINE, "report", "--json", "-n", "0", recording], stdout=subprocess.PIPE, check=True).stdout)
    nodes = recorded(recording)["nodes"]
    os.unlink(recording)
    slower = max(LEAST_SLOWER, 1 + SLOWER_SPREAD * (said["trace"]["code_slower"] - 1))
    functions = {f["name"]: f for f in said["functions"]}
    for name in own:  # a second that is no tracing is so much at the low end of an interval
        of_python = python_share(nodes, name)
        functions[name]["allowed"] = of_python / slower + 1 - of_python
    return own, functions


def python_share(nodes, name):
    """Of the time of a phase: own time of Python functions."""
    within, python, every = set(), 0, 0
    for node in nodes:  # callers first
        if node["name"] == name or node["parent"] in within:
            within.add(node["id"])
            every += node["self_ns"]
            python += node["self_ns"] if node["file"] else 0
    return python / every


def rounds_of(label, asked):
    """[(plain, (traced, functions), plain)]"""
    env = {**os.environ, "TMPDIR": interpreters.shared_folder(label)}
    with interpreters.inside(label, PROGRAM) as script, tempfile.TemporaryDirectory() as folder:
        command = interpreters.require(label).command(str(script), str(asked.size), asked.programs)
        return [(plain(command, env), traced(command, env, folder), plain(command, env)) for _ in range(asked.rounds)]


def pace_of(pieces, least):
    """The time of a piece in units of the fixed work."""
    quiet = [s / unit for s, _, unit in pieces if unit <= QUIET * least]
    return median(quiet if len(quiet) >= ENOUGH else [s / unit for s, _, unit in pieces])


def cells_of(label, rounds):
    units = sorted(piece[2] for a, t, b in rounds for run in (a, t[0], b) for pieces in run.values() for piece in pieces)
    least = units[len(units) // 20]
    for name in rounds[0][0]:
        truth = pace_of([piece for a, _, b in rounds for run in (a, b) for piece in run[name]], least)
        apart = median(abs(pace_of(a[name], least) / pace_of(b[name], least) - 1) for a, _, b in rounds)
        for _, (own, functions), _ in rounds:
            yield cell(label, name, own[name], functions[name], truth, apart, least)


def cell(label, name, pieces, function, truth, apart, least):
    waited = sum(piece[1] for piece in pieces)
    raw, corrected, high = (function[key] - waited for key in ("raw_total", "total", "total_high"))
    low = max(function["total_low"] - waited * function["allowed"], 0)
    seconds = min(raw * truth / pace_of(pieces, least), raw)
    return {
        "label": label,
        "name": name,
        "truth": seconds,
        "apart": apart,
        "stamped": raw / seconds,
        "off": corrected / seconds - 1,
        "low": low / seconds,
        "high": high / seconds,
        "half": (high - low) / (high + low),
        "is_bound": (high - low) / (high + low) > HALF_WIDTH,
        "held": low <= seconds <= high + 1e-9,
        "nearly": low * (1 - apart) <= seconds <= high * (1 + apart),
        "waited": waited / (waited + sum(piece[0] for piece in pieces)),
    }


def share(cells, key):
    return sum(c[key] for c in cells) / len(cells) if cells else float("nan")


def summary(what, cells):
    figures = [c for c in cells if not c["is_bound"]]
    half = median(c["half"] for c in figures) if figures else float("nan")
    passed = share(cells, "held") >= HELD and not half > HALF_WIDTH
    print(
        f"{what:24}{len(cells):6}{share(cells, 'held'):8.1%}{share(cells, 'nearly'):8.1%}"
        f"{len(figures):9}{share(figures, 'held'):8.1%}{share(figures, 'nearly'):8.1%}{half:12.1%}"
        f"{median(c['half'] for c in cells):10.1%}{median(c['apart'] for c in cells):7.1%}{'' if passed else ' !'}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--programs", choices=("fitted", "kept"), default="kept")
    parser.add_argument("labels", nargs="*", default=interpreters.EXPECTED)
    asked = parser.parse_args()
    every = []
    print(f"{'':6}{'phase':20}{'truth s':>9}{'A/A':>7}{'stamped':>9}{'off by':>9}{'interval ÷ truth':>19}{'waited':>8}")
    for label in asked.labels:
        for c in cells_of(label, rounds_of(label, asked)):
            every.append(c)
            print(
                f"{label:6}{c['name']:20}{c['truth']:9.3f}{c['apart']:7.1%}{c['stamped']:9.2f}{c['off']:+9.1%}"
                f"{c['low']:10.2f} – {c['high']:.2f}{c['waited']:9.0%}{'  bounds' if c['is_bound'] else ''}{'' if c['held'] else ' !'}",
                flush=True,
            )
    print(f"\n{'':24}{'cells':>6}{'held':>8}{'nearly':>8}{'figures':>9}{'held':>8}{'nearly':>8}{'half-width':>12}{'of all':>10}{'A/A':>7}")
    for label in asked.labels:
        summary(label, [c for c in every if c["label"] == label])
    for shape in sorted({c["name"].removeprefix("kept_").split("_")[0] for c in every}):
        summary(shape, [c for c in every if c["name"].removeprefix("kept_").split("_")[0] == shape])
    summary("all", every)


if __name__ == "__main__":
    main()
