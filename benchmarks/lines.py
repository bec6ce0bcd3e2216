"""What counting lines adds to a program that does little else than run them, line_profiler in the same run.

    python benchmarks/lines.py [--rounds N] [LABEL …]

loop.py runs plain, under line_profiler's kernprof and under `leadline run --lines`, in turn; the best of each counts, as
the program itself measures it. "share" is our added time over line_profiler's. The hits in our timed runs' own
recordings must be exact. On 3.10 that is all the interpreter allows: a trace function that does nothing at all for a line took as
long as ours (0.186 s and 0.185 s added, line_profiler 0.709 s). line_profiler comes from PyPI, one copy for each interpreter, into the cache.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from in_turn import HERE, best, interpreters, ours, recorded

BAR = 0.25
PROGRAM = HERE / "loop.py"
TRUTH = [1, 1_000_001, 1_000_000, 1_000_000, 1_000_000, 0, 0, 1_000_000, 1]  # hits of the lines of hot() after its head


def peer(label):
    """The folder with line_profiler for that interpreter, and its version; None where it cannot be had."""
    python = interpreters.require(label)
    folder = interpreters.cache() / "line_profiler" / label
    if python.root != "/":
        return None
    if not folder.exists():
        subprocess.run(python.command("-m", "pip", "install", "-q", "--only-binary", ":all:", "--target", str(folder),
                                      "line_profiler", "tomli", "typing_extensions"), capture_output=True)
    ask = "import line_profiler, kernprof; print(line_profiler.__version__)"
    r = subprocess.run(python.command("-c", ask), env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True)
    return (str(folder), r.stdout.strip()) if r.returncode == 0 else None


def is_exact(recording):
    hits = {c["line"]: c["hits"] for c in recorded(recording)["lines"] if c["line"]}
    return [hits.get(min(hits) + i, 0) for i in range(len(TRUTH))] == TRUTH


def measure(label, rounds, folder):
    python, shared = interpreters.require(label), interpreters.shared_folder(label)
    with interpreters.inside(label, PROGRAM) as script, tempfile.TemporaryDirectory() as own:
        recording = f"{own}/x.lead"
        commands = {"plain": python.command(str(script)), "lines": [*ours(recording, "--lines=hot"), *python.command(str(script))]}
        if folder:
            commands["peer"] = python.command("-m", "kernprof", "-l", "-o", "/dev/null", str(script))

        def env(name):
            return {**os.environ, "TMPDIR": shared, **({"PYTHONPATH": folder} if name == "peer" else {})}

        def look(name):
            if name == "lines" and not is_exact(recording):
                sys.exit(f"{label}: the recording's hits are not exact")

        return best(commands, rounds, recording, env, look)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("labels", nargs="*", default=interpreters.EXPECTED)
    asked = parser.parse_args()
    print(f"{'':6}{'plain s':>9}{'leadline':>10}{'line_profiler':>15}{'share':>8}{'bar':>6}")
    for label in asked.labels:
        found = peer(label)
        least = measure(label, asked.rounds, found[0] if found else None)
        row = f"{label:6}{least['plain']:9.4f}{least['lines']:10.4f}"
        if found:
            share = (least["lines"] - least["plain"]) / (least["peer"] - least["plain"])
            row += f"{least['peer']:15.4f}{share:8.2f}{BAR:6.2f}{'' if share <= BAR else ' !'}   line_profiler {found[1]}"
        print(row, flush=True)


if __name__ == "__main__":
    main()
