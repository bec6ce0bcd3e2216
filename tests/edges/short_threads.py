"""Threads of about 1 ms, four at a time, over a thousand of them: short_threads.py TRUTH [SECONDS]"""
import sys
import time

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3


def leaf():
    with TRUTH.of("leaf"):
        burn(0.0007)


def twig():
    """A third of the time, so that there is a share to get wrong."""
    with TRUTH.of("twig"):
        burn(0.00035)


def body():
    leaf()
    twig()


def start_and_join(end):
    while time.monotonic() < end:
        for thread in [TRUTH.start(body) for _ in range(4)]:
            thread.join()


start_and_join(time.monotonic() + SECONDS)
TRUTH.write()
