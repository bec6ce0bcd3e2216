"""What exact tracing adds to a program that does little but call, cProfile in the same run.

    python benchmarks/tracing.py [--rounds N] [LABEL …]

calls.py and builtins.py run plain, under cProfile and under `leadline run --trace`, in turn; the best of each counts,
in CPU time as the program itself measures it. "share" is our added time over cProfile's. The counts in our timed runs' own
recordings must be exact.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))
import interpreters  # noqa: E402

LEADLINE = HERE.parent / "build" / "leadline"
NODES = HERE.parent / "build" / "tests" / "nodes"
BARS = {"3.8": 0.45, "3.9": 0.45, "3.10": 0.55, "3.11": 0.75, "3.12": 0.55, "3.13": 0.50}
BUILTIN_BAR = 0.5
TRUTH = {
    "calls.py": {"fib": 635_621, "P.step": 300_000, "<built-in method builtins.abs>": 300_000, "<built-in method builtins.len>": 300_000},
    "builtins.py": {"<method 'append' of 'list' objects>": 600_000, "<built-in method builtins.ord>": 600_000},
}


def seconds(command, env):
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    return float(re.search(r"^T ([0-9.]+)$", done.stdout + done.stderr, re.MULTILINE).group(1))


def is_exact(recording, truth):
    nodes = json.loads(subprocess.run([NODES, recording], stdout=subprocess.PIPE, check=True).stdout)["nodes"]
    for name, calls in truth.items():
        names = {name, name.rpartition(".")[2]} if not name.startswith("<") else {name}
        if sum(node["calls"] for node in nodes if node["name"] in names) != calls:
            return False
    return True


def measure(label, program, rounds, options):
    python, shared = interpreters.require(label), interpreters.shared_folder(label)
    env = {**os.environ, "TMPDIR": shared}
    with interpreters.inside(label, HERE / program) as script, tempfile.TemporaryDirectory() as own:
        recording = f"{own}/x.lead"
        commands = {
            "plain": python.command(str(script)),
            "cProfile": python.command("-m", "cProfile", "-o", "/dev/null", str(script)),
        }
        for name, words in options.items():
            commands[name] = [LEADLINE, "run", *words, "--report=/dev/null", "-o", recording, "--", *python.command(str(script))]
        best = {}
        for _ in range(rounds):
            for name, command in commands.items():
                if os.path.exists(recording):
                    os.unlink(recording)
                best[name] = min(best.get(name, 1e9), seconds(command, env))
                if name in options and not is_exact(recording, TRUTH[program]):
                    sys.exit(f"{label} {program} {name}: the recording's counts are not exact")
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("labels", nargs="*", default=interpreters.EXPECTED)
    asked = parser.parse_args()
    options = {"trace": ["--trace"], "count": ["--count"]}
    print(f"{'':6}{'program':13}{'plain s':>9}{'cProfile':>10}{'trace':>9}{'share':>8}{'bar':>6}{'count / trace':>15}")
    for label in asked.labels:
        for program in ("calls.py", "builtins.py"):
            best = measure(label, program, asked.rounds, options)
            added = {name: best[name] - best["plain"] for name in best}
            bar = BARS.get(label) if program == "calls.py" else BUILTIN_BAR if label not in ("3.8", "3.9", "3.10", "3.11") else None
            print(f"{label:6}{program:13}{best['plain']:9.4f}{best['cProfile']:10.4f}{best['trace']:9.4f}"
                  f"{added['trace'] / added['cProfile']:8.2f}{bar or '':>6}{added['count'] / added['trace']:15.2f}", flush=True)


if __name__ == "__main__":
    main()
