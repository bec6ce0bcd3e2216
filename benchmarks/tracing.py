"""What exact tracing adds to a program that does little but call, cProfile in the same run.

    python benchmarks/tracing.py [--rounds N] [LABEL …]

calls.py and builtins.py run plain, under cProfile and under `leadline run --trace`, in turn; the best of each counts,
in CPU time as the program itself measures it. "share" is our added time over cProfile's. The counts in our timed runs' own
recordings must be exact. "count / trace" is what `--count` adds over what `--trace` adds (bar: 0.9); on 3.11 a profile function
that does nothing at all has 0.89 of it (0.151 s of 0.170 s added), because while one is set the interpreter leaves its
specialised instructions and makes a frame object for each call.
"""
import argparse
import os
import sys
import tempfile

from in_turn import HERE, best, interpreters, ours, recorded

BARS = {"3.8": 0.45, "3.9": 0.45, "3.10": 0.55, "3.11": 0.75, "3.12": 0.55, "3.13": 0.50}
BUILTIN_BAR = 0.5
TRUTH = {
    "calls.py": {"fib": 635_621, "P.step": 300_000, "<built-in method builtins.abs>": 300_000, "<built-in method builtins.len>": 300_000},
    "builtins.py": {"<method 'append' of 'list' objects>": 600_000, "<built-in method builtins.ord>": 600_000},
}


def is_exact(recording, truth):
    nodes = recorded(recording)["nodes"]
    for name, calls in truth.items():
        names = {name, name.rpartition(".")[2]} if not name.startswith("<") else {name}
        if sum(node["calls"] for node in nodes if node["name"] in names) != calls:
            return False
    return True


def measure(label, program, rounds, options):
    python, env = interpreters.require(label), {**os.environ, "TMPDIR": interpreters.shared_folder(label)}
    with interpreters.inside(label, HERE / program) as script, tempfile.TemporaryDirectory() as own:
        recording = f"{own}/x.lead"
        commands = {
            "plain": python.command(str(script)),
            "cProfile": python.command("-m", "cProfile", "-o", "/dev/null", str(script)),
            **{name: [*ours(recording, *words), *python.command(str(script))] for name, words in options.items()},
        }

        def look(name):
            if name in options and not is_exact(recording, TRUTH[program]):
                sys.exit(f"{label} {program} {name}: the recording's counts are not exact")

        return best(commands, rounds, recording, lambda name: env, look)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("labels", nargs="*", default=interpreters.EXPECTED)
    asked = parser.parse_args()
    options = {"trace": ["--trace"], "count": ["--count"]}
    print(f"{'':6}{'program':13}{'plain s':>9}{'cProfile':>10}{'trace':>9}{'share':>8}{'bar':>6}{'count / trace':>15}")
    for label in asked.labels:
        for program in ("calls.py", "builtins.py"):
            least = measure(label, program, asked.rounds, options)
            added = {name: least[name] - least["plain"] for name in least}
            bar = BARS.get(label) if program == "calls.py" else BUILTIN_BAR if label not in ("3.8", "3.9", "3.10", "3.11") else None
            print(f"{label:6}{program:13}{least['plain']:9.4f}{least['cProfile']:10.4f}{least['trace']:9.4f}"
                  f"{added['trace'] / added['cProfile']:8.2f}{bar or '':>6}{added['count'] / added['trace']:15.2f}", flush=True)


if __name__ == "__main__":
    main()
