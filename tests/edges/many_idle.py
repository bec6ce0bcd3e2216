"""A thread that computes, after 700 that wait: many_idle.py TRUTH [SECONDS]

Meant for a limit of 1024 descriptors, of which it tells what it was left.
"""
import resource
import sys
import threading
import time

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3
IDLE = 700
DONE = threading.Event()


def wait():
    with TRUTH.of("wait"):
        DONE.wait()


def heavy():
    with TRUTH.of("heavy"):
        burn(0.003)


def light():
    with TRUTH.of("light"):
        burn(0.001)


def compute(end):
    while time.monotonic() < end:
        heavy()
        light()


threading.stack_size(256 * 1024)
waiters = [TRUTH.start(wait) for _ in range(IDLE)]
last = TRUTH.start(compute, time.monotonic() + SECONDS)
last.join()
DONE.set()
for waiter in waiters:
    waiter.join()
TRUTH.told["descriptors"] = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
TRUTH.write()
