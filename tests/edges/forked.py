"""Processes of a few milliseconds that are forked and run no other program: forked.py TRUTH [SECONDS]"""
import os
import struct
import sys
import time

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3


def leaf():
    wall, cpu = time.monotonic(), time.thread_time()
    burn(0.004)
    return time.thread_time() - cpu, time.monotonic() - wall


def fork_one():
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(writing, struct.pack("dd", *leaf()))
        os._exit(0)
    os.close(writing)
    TRUTH.add("leaf", *struct.unpack("dd", os.read(reading, 16)))
    os.close(reading)
    assert os.waitpid(pid, 0)[1] == 0
    TRUTH.other_processes += 1


def fork(end):
    while time.monotonic() < end:
        fork_one()


fork(time.monotonic() + SECONDS)
TRUTH.write()
