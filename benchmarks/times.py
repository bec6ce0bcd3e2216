"""Corrected times of a traced run beside what the same program measures for itself untraced.

    python benchmarks/times.py [--size N] [--rounds N] [LABEL …]

phases.py runs plain, then under `leadline run --trace`, then plain again, in turn. For each phase: the seconds it measures
untraced; our corrected inclusive time, and how far that is off; the time as stamped: each the median of all rounds. The first four
phases do nothing but call, so that most of their traced time is the tracing; in the last, calls do some work (bar: 5 %).
"""
import argparse
import json
import os
import subprocess
import tempfile
from statistics import median

from in_turn import HERE, LEADLINE, interpreters

PROGRAM = HERE / "phases.py"
BAR = 0.05


def plain(command, env):
    lines = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return {name: float(s) for name, s in map(str.split, lines)}


def traced(command, env, folder):
    """{function: (corrected, as stamped)}, inclusive."""
    recording = f"{folder}/x.lead"
    subprocess.run([LEADLINE, "run", "--trace", "--report=/dev/null", "-o", recording, "--", *command], env=env, check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run([LEADLINE, "report", "--json", "-n", "0", recording], stdout=subprocess.PIPE, check=True).stdout
    os.unlink(recording)
    return {f["name"]: (f["total_s"], f["raw_total_s"]) for f in json.loads(said)["functions"]}


def measure(label, size, rounds):
    env = {**os.environ, "TMPDIR": interpreters.shared_folder(label)}
    untraced, found = [], []
    with interpreters.inside(label, PROGRAM) as script, tempfile.TemporaryDirectory() as folder:
        command = interpreters.require(label).command(str(script), str(size))
        for _ in range(rounds):
            untraced += [plain(command, env), plain(command, env)]
            found.append(traced(command, env, folder))
    truth = {name: median(run[name] for run in untraced) for name in untraced[0]}
    ours = {name: tuple(median(run[name][i] for run in found) for i in range(2)) for name in truth}
    return truth, ours


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("labels", nargs="*", default=interpreters.EXPECTED)
    asked = parser.parse_args()
    print(f"{'':6}{'phase':12}{'plain s':>9}{'corrected':>11}{'off by':>8}{'stamped':>9}")
    for label in asked.labels:
        truth, ours = measure(label, asked.size, asked.rounds)
        for name, s in truth.items():
            corrected, raw = ours[name]
            off = corrected / s - 1
            print(f"{label:6}{name:12}{s:9.3f}{corrected:11.3f}{off:+8.1%}{raw:9.3f}{'' if abs(off) <= BAR else ' !'}", flush=True)


if __name__ == "__main__":
    main()
