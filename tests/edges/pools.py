"""Pools of four threads that are made, given eight tasks of 0.5 ms, and dropped, over and over: pools.py TRUTH [SECONDS]"""
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3


def task(_):
    with TRUTH.of("task"):
        burn(0.0005)
    return threading.get_ident()


def churn(end):
    while time.monotonic() < end:
        with ThreadPoolExecutor(4) as pool:
            TRUTH.threads += len(set(pool.map(task, range(8))))


churn(time.monotonic() + SECONDS)
TRUTH.write()
