"""Four threads that fight for the GIL, each with two functions, 3:1: gil.py TRUTH [SECONDS]"""
import sys
import time

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.2


def heavy():
    with TRUTH.of("heavy"):
        burn(0.003)


def light():
    with TRUTH.of("light"):
        burn(0.001)


def fight(end):
    with TRUTH.of("fight"):
        while time.monotonic() < end:
            heavy()
            light()


threads = [TRUTH.start(fight, time.monotonic() + SECONDS) for _ in range(4)]
for thread in threads:
    thread.join()
TRUTH.write()
