"""Corrected times of a traced run beside what the same program measures for itself untraced.

    python benchmarks/times.py [--size N] [--rounds N] [LABEL …]

phases.py runs plain, then under `leadline run --trace`, then plain again, in turn. It measures each phase in seconds, and in units of a
fixed piece of work, as the pace of a shared CPU changes by half from one moment to the next: `A/A` tells by how much the two plain runs of a
round differ in the middle, in seconds and in units. `off by` is our corrected inclusive time beside the plain one in units, the median of all rounds with
the quartiles; `in seconds` the same of medians in seconds. `stamped`: how many times as long the traced phase took. The first
four phases do nothing but call, so that most of their traced time is the tracing; in the last, calls do some work (bar: 5 %).
"""
import argparse
import json
import os
import subprocess
import tempfile
from statistics import median, quantiles

from in_turn import HERE, LEADLINE, interpreters

PROGRAM = HERE / "phases.py"
BAR = 0.05


def said_by(output):
    """{phase: (seconds, units)}"""
    return {name: (float(s), float(units)) for name, s, units in map(str.split, output.splitlines())}


def plain(command, env):
    return said_by(subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)


def traced(command, env, folder):
    """{phase: (corrected seconds, the same in units, stamped seconds)}, inclusive."""
    recording = f"{folder}/x.lead"
    run = [LEADLINE, "run", "--trace", "--report=/dev/null", "-o", recording, "--", *command]
    own = said_by(subprocess.run(run, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout)
    said = subprocess.run([LEADLINE, "report", "--json", "-n", "0", recording], stdout=subprocess.PIPE, check=True).stdout
    os.unlink(recording)
    functions = {f["name"]: f for f in json.loads(said)["functions"]}
    return {
        name: (functions[name]["total"], functions[name]["total"] * units / s, functions[name]["raw_total"]) for name, (s, units) in own.items()
    }


def rounds_of(label, size, n):
    """[(plain, traced, plain)]"""
    env = {**os.environ, "TMPDIR": interpreters.shared_folder(label)}
    with interpreters.inside(label, PROGRAM) as script, tempfile.TemporaryDirectory() as folder:
        command = interpreters.require(label).command(str(script), str(size))
        return [(plain(command, env), traced(command, env, folder), plain(command, env)) for _ in range(n)]


def row(label, name, rounds):
    apart = [median(abs(a[name][i] / b[name][i] - 1) for a, _, b in rounds) for i in range(2)]
    s, stamped = (median(r[name][i] for one in rounds for r in one[start::2]) for start, i in ((0, 0), (1, 2)))
    corrected = median(t[name][0] for _, t, _ in rounds)
    off = [t[name][1] / (a[name][1] + b[name][1]) * 2 - 1 for a, t, b in rounds]
    low, middle, high = quantiles(off, n=4, method="inclusive") if len(off) > 1 else off * 3
    return (
        f"{label:6}{name:12}{s:9.3f}{apart[0]:8.1%}{apart[1]:7.1%}{middle:+9.1%} [{low:+6.1%} {high:+6.1%}]"
        f"{corrected / s - 1:+12.1%}{stamped / s:9.2f}{'' if abs(middle) <= BAR else ' !'}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("labels", nargs="*", default=interpreters.EXPECTED)
    asked = parser.parse_args()
    print(f"{'':6}{'phase':12}{'plain s':>9}{'A/A s':>8}{'units':>7}{'off by':>9}{'quartiles':>17}{'in seconds':>12}{'stamped':>9}")
    for label in asked.labels:
        rounds = rounds_of(label, asked.size, asked.rounds)
        for name in rounds[0][0]:
            print(row(label, name, rounds), flush=True)


if __name__ == "__main__":
    main()
