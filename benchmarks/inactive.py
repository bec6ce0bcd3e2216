"""What the package costs a program while nothing records: ns for each thing, beside an empty loop.

    python benchmarks/inactive.py        one interpreter; run.py asks all of them
"""
import pathlib
import sys
import timeit

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

import leadline  # noqa: E402
from leadline import region  # noqa: E402

LOOPS, REPEATS = 1000, 3000  # short, so that some have the CPU to themselves


class Empty:
    """The least a context manager written in Python costs."""

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


def plain():
    pass


NAMES = {"region": region, "leadline": leadline, "plain": plain, "empty": Empty()}


def ns(statement):
    best = min(timeit.repeat(statement, globals=NAMES, number=LOOPS, repeat=REPEATS))
    return best / LOOPS * 1e9


if __name__ == "__main__":
    base = ns("pass")
    for what, statement in (("region('x'), the call", "region('x')"), ("with region('x')", "with region('x'): pass"),
                            ("with leadline.region('x')", "with leadline.region('x'): pass"),
                            ("an empty context manager in Python", "with empty: pass"), ("an empty call", "plain()")):
        print(f"  {what:36} {ns(statement) - base:6.0f} ns")
