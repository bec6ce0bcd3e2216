"""A thread that computes beside one that waits, to be stopped by a signal for a second: stopped.py TRUTH [SECONDS]

It makes the file TRUTH.ready when it has begun. SECONDS are those it was not stopped: it steps through them, and a step that took
more than a third of a second was a stop.
"""
import sys
import threading
import time

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.2
STOP_S = 0.33
DONE = threading.Event()


def work(seconds):
    """Seconds that it was stopped."""
    stopped, ran, at = 0.0, 0.0, time.monotonic()
    while ran < seconds:
        burn(0.001)
        now = time.monotonic()
        if now - at > STOP_S:
            stopped += now - at
        else:
            ran += now - at
        at = now
    return stopped


def wait():
    with TRUTH.of("wait"):
        DONE.wait()


waiter = TRUTH.start(wait)
with open(sys.argv[1] + ".ready", "w"):
    pass
with TRUTH.of("work"):
    stopped_s = work(SECONDS)
DONE.set()
waiter.join()
TRUTH.calls = [(name, cpu_s, wall_s - stopped_s) for name, cpu_s, wall_s in TRUTH.calls]
TRUTH.told["stopped_s"] = stopped_s
TRUTH.write()
