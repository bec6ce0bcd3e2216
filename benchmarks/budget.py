"""What a budget of 10 % does to five programs of pyperformance: their slow-down, whose calls are exact, what the ranges hold.

    python benchmarks/budget.py FOLDER [--rounds N] [--label 3.13]

FOLDER is one that pyperformance and pyperf were installed into (pip install --no-deps --target FOLDER pyperformance pyperf). Each
program runs plain and under `leadline run --budget 10%`, in turn, the least CPU time of each counts; once under --trace, whose
counts are the truth; and once under the sampler, whose ten functions with most time of their own are looked up in the budget's: is
the share the budget finds within the sampler's interval, and do the two intervals meet, each of which has its doubt?
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


def own_shares(own, rows):
    """Of the recording: {(file, line): (share, low, high)}. What a C function takes is its caller's, as a sampler sees it."""
    subprocess.run([LEADLINE, "export", f"{own}/x.lead", "--format", "pstats", "-o", f"{own}/x.pstats"], check=True, stdout=subprocess.DEVNULL)
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for (file, line, name), (_, _, self_s, _, callers) in marshal.loads(pathlib.Path(f"{own}/x.pstats").read_bytes()).items():
        row = next((r for (n, f, at), r in rows.items() if (f, at) == (file, line)), {}) if file != "~" else rows.get((name.replace("<", "{").replace(">", "}"), "", 0), {})
        ends = [1, *((row[end] / row["self"] if row.get(end) is not None and row["self"] else 1) for end in ("self_low", "self_high"))]
        if file != "~" and row:
            sums[file, line] = [sum_s + (row["self"] if row.get(end) is None else row[end]) for sum_s, end in zip(sums[file, line], ("self", "self_low", "self_high"))]
            continue
        parts = {(file, line): self_s} if file != "~" else {(of[0], of[1]): numbers[2] for of, numbers in callers.items()}
        for key, part_s in parts.items():
            sums[key] = [sum_s + part_s * end for sum_s, end in zip(sums[key], ends)]
    total = sum(values[0] for values in sums.values())
    return {key: tuple(value / total for value in values) for key, values in sums.items()}


def top_ten(own, command, env, shares):
    """How many of the ten functions with most time of their own, by the sampler, have the budget's share within the sampler's interval; have an interval
    that meets the sampler's; and are among the budget's ten. And how wide the budget's intervals are, as high ÷ low, in the middle."""
    rows, page = functions(own, command, env)
    top = sorted(rows.values(), key=lambda row: -row["self"])[:10]
    ours = sorted(shares, key=lambda key: -shares[key][0])[:10]
    found = [(row["self_low"], row["self_high"], *(share * page["total"] for share in shares.get((row["file"], row["line"]), (0, 0, 0)))) for row in top]
    inside = sum(low <= s <= high for low, high, s, _, _ in found)
    meet = sum(low <= our_high and our_low <= high for low, high, _, our_low, our_high in found)
    widths = sorted(our_high / our_low if our_low else float("inf") for _, _, _, our_low, our_high in found)
    return inside, meet, sum((row["file"], row["line"]) in ours for row in top), widths[len(widths) // 2]


def is_guess(row):
    return row["calls_are_estimated"]


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
    print(f"{'program':12}{'plain s':>9}{'budget s':>10}{'slower':>8}{'functions':>11}{'exact':>7}{'right':>7}{'estimated':>11}{'held':>6}{'no high':>9}{'top 10: within, meet, same, high ÷ low':>40}")
    for name, loops in LOOPS.items():
        script = pathlib.Path(asked.folder) / f"pyperformance/data-files/benchmarks/bm_{name}/run_benchmark.py"
        command = interpreters.require(asked.label).command(str(script), "--worker", "-l", str(loops), "-n", "1", "-w", "0")
        with tempfile.TemporaryDirectory() as own:
            plain, budget = [], []
            for _ in range(asked.rounds):
                plain.append(cpu(command, env))
                rows, page = functions(own, command, env, "--budget", "10%")
                budget.append(page["user_s"] + page["system_s"])
            top = top_ten(own, command, env, own_shares(own, rows))
            truth, _ = functions(own, command, env, "--trace")
        exact = [key for key, row in rows.items() if not is_guess(row) and key in truth]
        right = sum(rows[key]["calls"] == truth[key]["calls"] for key in exact)
        guessed = [key for key, row in rows.items() if is_guess(row) and key in truth]
        held = sum(holds(rows[key], truth[key]["calls"]) for key in guessed)
        for i, n in enumerate((len(rows), right, len(guessed), held)):
            sums[i] += n
        print(f"{name:12}{min(plain):9.2f}{min(budget):10.2f}{100 * (min(budget) / min(plain) - 1):7.1f}%{len(rows):11}{len(exact):7}{right:7}"
              f"{len(guessed):11}{held:6}{sum(rows[key]['calls_high'] is None for key in guessed):9}{'{}, {}, {}, {:.1f}'.format(*top):>40}", flush=True)
    print(f"exact and right: {100 * sums[1] / sums[0]:.1f} % of the functions seen; held: {sums[3]} of {sums[2]} ranges")


if __name__ == "__main__":
    sys.exit(main())
