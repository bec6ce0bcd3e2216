"""`make soak`: whether the recorder's memory stays flat while threads, processes, functions and tasks come and go (tests/edges/churn.py).

    python benchmarks/soak.py [--minutes M] [--python LABEL] [--tool FILE] [OPTION OF run …]

A line a minute, the median of it: in each a segment of the recording fills, and is forgotten. The exit status is 1 where the last minute's is above the
second's by more than MOST_BYTES_PER_S (1 MiB in half an hour). Options of
`leadline run` such as --trace come last, after --.
"""
import argparse
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import churn  # noqa: E402
import interpreters  # noqa: E402

SEGMENT_S = 60
MOST_BYTES_PER_S = 600
SLACK_BYTES = 128 * 1024  # of runs that are shorter


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--python", choices=interpreters.EXPECTED, default="3.13")
    parser.add_argument("--tool", default=str(ROOT / "build" / "leadline"))
    parser.add_argument("options", nargs="*", metavar="OPTION")
    wanted = parser.parse_args()
    seconds = wanted.minutes * 60
    if seconds < 3 * SEGMENT_S:
        parser.error("--minutes: too short to tell: the first minute does not count, and another one is compared with the last")
    minute = []

    def tell(at, size):
        minute.append(size)
        if at // SEGMENT_S < (at + churn.EVERY_S) // SEGMENT_S:
            print(f"{at / 60:4.0f} min {statistics.median(minute) / 1024:8.0f} KiB", flush=True)
            minute.clear()

    readings, rounds = churn.watch(wanted.tool, wanted.python, seconds, wanted.options, tell)
    first, last = churn.middle(readings, SEGMENT_S, 2 * SEGMENT_S), churn.middle(readings, seconds - SEGMENT_S, seconds)
    grown, per_s = last - first, (last - first) / (seconds - 2 * SEGMENT_S)
    most = max(MOST_BYTES_PER_S * (seconds - 2 * SEGMENT_S), SLACK_BYTES)
    is_flat = grown <= most
    print(f"{'PASS' if is_flat else 'FAIL'}: {grown / 1024:+.0f} KiB from the second minute to the last ({per_s / 1000:+.2f} kB/s), at most {most / 1024:.0f} KiB; {rounds} rounds")
    return int(not is_flat)


if __name__ == "__main__":
    sys.exit(main())
