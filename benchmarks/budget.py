"""What a budget of 10 % does to five programs of pyperformance: their slow-down, what stays exact, what the intervals hold.

    python benchmarks/budget.py FOLDER [--rounds N] [--label 3.13]

FOLDER is one that pyperformance and pyperf were installed into (pip install --no-deps --target FOLDER pyperformance pyperf). Each
program runs plain and under `leadline run --budget 10%`, in turn, the least CPU time of each counts; once under --trace, whose
counts are the truth; and once under the sampler, whose ten functions with most time of their own are looked up in the budget's.
"""
import argparse
import collections
import json
import marshal
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

from in_turn import LEADLINE, interpreters

LOOPS = {"richards": 30, "deltablue": 400, "raytrace": 4, "chaos": 20, "go": 10}


def cpu(command, env):
    """CPU seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def functions(own, command, env, *options):
    """{(name, file, line): row} of a recording, which is kept until the next, and the page."""
    pathlib.Path(f"{own}/x.lead").unlink(missing_ok=True)
    subprocess.run([LEADLINE, "run", *options, f"--json={own}/x.json", "--report=/dev/null", "-o", f"{own}/x.lead", "--", *command], env=env,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    page = json.loads(pathlib.Path(f"{own}/x.json").read_text())
    return {(f["name"], f["file"], f["line"]): f for f in page["functions"]}, page


def own_shares(own):
    """Of the recording: {(file, line): share}. What a C function takes is its caller's, as a sampler sees it."""
    subprocess.run([LEADLINE, "export", f"{own}/x.lead", "--format", "pstats", "-o", f"{own}/x.pstats"], check=True, stdout=subprocess.DEVNULL)
    seconds = collections.Counter()
    for (file, line, _), (_, _, self_s, _, callers) in marshal.loads(pathlib.Path(f"{own}/x.pstats").read_bytes()).items():
        if file != "~":
            seconds[file, line] += self_s
        for (file_of, line_of, _), (_, _, part_s, _) in callers.items() if file == "~" else ():
            seconds[file_of, line_of] += part_s
    return {key: value / sum(seconds.values()) for key, value in seconds.items()}


def top_ten(own, command, env, shares):
    """How many of the ten functions with most time of their own, by the sampler, have the budget's share within the sampler's interval, and within
    it and 1 % of all on either side; how many are among the budget's ten."""
    rows, page = functions(own, command, env)
    top = sorted(rows.values(), key=lambda row: -row["self_s"])[:10]
    ours = sorted(shares, key=lambda key: -shares[key])[:10]
    found = [(row, shares.get((row["file"], row["line"]), 0) * page["sampled_s"]) for row in top]
    inside = sum(row["self_low_s"] <= s <= row["self_high_s"] for row, s in found)
    near = sum(row["self_low_s"] - 0.01 * page["sampled_s"] <= s <= row["self_high_s"] + 0.01 * page["sampled_s"] for row, s in found)
    return inside, near, sum((row["file"], row["line"]) in ours for row in top)


def holds(row, truth):
    return row["calls_low"] <= truth and (row["calls_high"] is None or truth <= row["calls_high"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--label", default="3.13")
    asked = parser.parse_args()
    env = {**os.environ, "PYTHONPATH": asked.folder}
    sums = [0, 0, 0, 0]
    print(f"{'program':12}{'plain s':>9}{'budget s':>10}{'slower':>8}{'functions':>11}{'exact':>7}{'right':>7}{'estimated':>11}{'held':>6}{'top 10: within, ± 1 %, same':>30}")
    for name, loops in LOOPS.items():
        script = pathlib.Path(asked.folder) / f"pyperformance/data-files/benchmarks/bm_{name}/run_benchmark.py"
        command = interpreters.require(asked.label).command(str(script), "--worker", "-l", str(loops), "-n", "1", "-w", "0")
        with tempfile.TemporaryDirectory() as own:
            plain, budget = [], []
            for _ in range(asked.rounds):
                plain.append(cpu(command, env))
                rows, page = functions(own, command, env, "--budget", "10%")
                budget.append(page["user_s"] + page["sys_s"])
            top = top_ten(own, command, env, own_shares(own))
            truth, _ = functions(own, command, env, "--trace")
        exact = [key for key, row in rows.items() if not row["estimated"] and key in truth]
        right = sum(rows[key]["calls"] == truth[key]["calls"] for key in exact)
        guessed = [key for key, row in rows.items() if row["estimated"] and key in truth]
        held = sum(holds(rows[key], truth[key]["calls"]) for key in guessed)
        for i, n in enumerate((len(rows), right, len(guessed), held)):
            sums[i] += n
        print(f"{name:12}{min(plain):9.2f}{min(budget):10.2f}{100 * (min(budget) / min(plain) - 1):7.1f}%{len(rows):11}{len(exact):7}{right:7}"
              f"{len(guessed):11}{held:6}{'{}, {}, {}'.format(*top):>30}", flush=True)
    print(f"exact and right: {100 * sums[1] / sums[0]:.1f} % of the functions seen; held: {sums[3]} of {sums[2]} intervals")


if __name__ == "__main__":
    sys.exit(main())
