"""A program that becomes another one midway (exec), which has a second thread: becomes.py TRUTH [SECONDS]"""
import os
import sys
import time

from stamps import Truth, burn_until

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.2


def before(end):
    with TRUTH.of("before"):
        burn_until(end)


def after(end):
    with TRUTH.of("after"):
        burn_until(end)


def nap(end):
    with TRUTH.of("nap"):
        time.sleep(max(end - time.monotonic(), 0))


if len(sys.argv) < 4:
    before(time.monotonic() + SECONDS / 2)
    TRUTH.part()
    os.execv(sys.executable, [sys.executable, __file__, sys.argv[1], str(SECONDS), str(TRUTH.began)])
TRUTH.began = float(sys.argv[3])
sleeper = TRUTH.start(nap, time.monotonic() + SECONDS / 2)
after(time.monotonic() + SECONDS / 2)
sleeper.join()
TRUTH.write()
