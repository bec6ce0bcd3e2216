"""Four processes that compute on two CPUs: each is on a CPU half of its time: crowd.py TRUTH [SECONDS]"""
import os
import sys
import time

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3


def heavy():
    with TRUTH.of("heavy"):
        burn(0.003)


def light():
    with TRUTH.of("light"):
        burn(0.001)


def compute(end):
    with TRUTH.of("compute"):
        while time.monotonic() < end:
            heavy()
            light()


os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
pids = []
for _ in range(4):
    pid = os.fork()
    if not pid:
        TRUTH.forget()
        compute(time.monotonic() + SECONDS)
        TRUTH.part()
        os._exit(0)
    pids.append(pid)
for pid in pids:
    assert os.waitpid(pid, 0)[1] == 0
TRUTH.write()
