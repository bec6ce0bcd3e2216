"""A C thread that calls Python for 20 ms in every 200 ms, and a Python thread that waits meanwhile: c_calls.py TRUTH [SECONDS]

Needs c_calls.so beside it, compiled from c_calls.c.
"""
import ctypes
import os
import sys
import threading

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.6
LIBRARY = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "c_calls.so"))
DONE = threading.Event()


def spin():
    with TRUTH.of("spin"):
        burn(0.02)


@ctypes.CFUNCTYPE(None)
def called():
    spin()


def wait():
    with TRUTH.of("wait"):
        DONE.wait()


waiter = TRUTH.start(wait)
TRUTH.threads += 1  # the one in C
assert LIBRARY.calls_start(called, ctypes.c_int64(180_000_000), int(SECONDS / 0.2)) == 0
LIBRARY.calls_wait()  # without the GIL
DONE.set()
waiter.join()
TRUTH.write()
