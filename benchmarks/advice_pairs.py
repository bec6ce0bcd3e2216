"""Advice against what following it brings: every flaw of tests/targets/torch/flaws is fixed once and compared.

    python benchmarks/advice_pairs.py [ROUNDS] [PROGRAM …]      rounds 5, all programs; in the environment of a Python with torch

The slow program is recorded in each round, which tells an estimate and a bound, and then the slow and the fast one take turns, plainly run; medians
are compared. Times are the CPU time of a step (one thread), so that other programs on the machine hardly matter; of a DataLoader they are by the
clock, and want a quiet machine; of what grows they are bytes. Bars: the estimate within 25 % of what was saved; the bound at least that, and at most twice it. Prints the table of docs/decisions/0056.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEADLINE = ROOT / "build" / "leadline"
FLAWS = ROOT / "tests" / "targets" / "torch" / "flaws"
PAIRS = [  # program, slow, fast, steps, rule, how it is recorded, what is compared
    ("token_loop", "slow", "fast", 25, "overhead", "light", "step_s"),
    ("cell_loop", "slow", "fast", 20, "overhead", "light", "step_s"),
    ("select_loop", "slow", "fast", 25, "select-backward", "light", "step_s"),
    ("adam_loop", "slow", "fast", 40, "optimizer-loop", "light", "step_s"),
    ("copies", "slow", "fast", 20, "copies", "light", "step_s"),
    ("float64", "slow", "fast", 20, "float64", "trace", "step_s"),
    ("serving", "slow", "fast", 40, "batching", "trace", "step_s"),
    ("leak", "slow", "fast", 80, "growth", "trace", "peak_bytes"),
    ("loader", "start", "persistent", 6, "dataloader", "light", "wall_s"),
    # Held out: the shares of the rules were chosen without these, and are never to be fitted to them.
    ("held_tokens", "slow", "fast", 25, "overhead", "light", "step_s"),
    ("held_adam", "slow", "fast", 60, "optimizer-loop", "light", "step_s"),
    ("held_copies", "slow", "fast", 25, "copies", "light", "step_s"),
]


def run(program, *words, env=None, before=()):
    command = [*map(str, before), sys.executable, str(FLAWS / f"{program}.py"), *map(str, words)]
    done = subprocess.run(command, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=True, timeout=600)
    return json.loads(done.stdout.splitlines()[-1])


def told(folder, program, switch, steps, rule, way):
    path = folder / ("x.lead" if way == "light" else "x.json")
    if way == "light":
        run(program, switch, steps, before=[LEADLINE, "run", "--torch", "--force", "-o", path, f"--report={folder}/report", "--"])
    else:
        run(program, switch, steps, env={"FLAW_TRACE": str(path)})
    report = subprocess.run([LEADLINE, "report", "--overview", "--json", path], capture_output=True, text=True, check=True)
    found = [f for f in json.loads(report.stdout)["overview"]["advice"] if f["rule"] == rule]
    return found[0]["saving"] if found else None


def measure(pair, rounds):
    """What is told (estimate, bound) and what was saved: medians of the rounds; None: the rule said nothing."""
    program, slow, fast, steps, rule, way, what = pair
    seen, says = {slow: [], fast: []}, []
    for k in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            says.append(told(pathlib.Path(folder), program, slow, steps, rule, way))
        if not says[-1]:
            return None
        for switch in (slow, fast) if k % 2 else (fast, slow):
            seen[switch].append(run(program, switch, steps)[what])
    estimate, bound = (statistics.median(s[key] / (s["whole"] if what == "step_s" else 1) for s in says) for key in ("estimate", "value"))
    before, after = statistics.median(seen[slow]), statistics.median(seen[fast])
    return estimate, bound, 1 - after / before if what == "step_s" else before - after


def words(value, what):
    return f"{100 * value:.0f} %" if what == "step_s" else f"{value / (1 << 20):.1f} MiB" if what == "peak_bytes" else f"{value:.2f} s"


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 5
    wanted = [word for word in sys.argv[1:] if not word.isdigit()]
    missed = 0
    print("| program | rule | estimate | bound | saved | estimate / saved | bound / saved |\n|---|---|---|---|---|---|---|")
    for pair in PAIRS:
        program, rule, what = pair[0], pair[4], pair[6]
        if wanted and program not in wanted:
            continue
        measured = measure(pair, rounds)
        if not measured:
            print(f"| `{program}` | `{rule}` | silent | | | | |")
            missed += 1
            continue
        estimate, bound, truth = measured
        ok = 0.75 <= estimate / truth <= 1.25 and 1 <= bound / truth <= 2
        missed += not ok
        print(f"| `{program}` | `{rule}` | {words(estimate, what)} | {words(bound, what)} | {words(truth, what)} | {estimate / truth:.2f} | {bound / truth:.2f}{'' if ok else ' (missed)'} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
