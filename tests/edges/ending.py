"""A program whose interpreter takes 1.5 s to end after its last line, with no frame of Python on its stack: ending.py TRUTH

Its parent takes the time. What it does then: a C function that atexit calls, one that is an object's __del__, and a large graph
of objects that is released.
"""
import os
import subprocess
import sys
import time

from stamps import Truth, burn

CHILD = "child"


def work():
    wall, cpu = time.monotonic(), time.thread_time()
    burn(0.3)
    return time.thread_time() - cpu, time.monotonic() - wall


def last_lines():
    import atexit
    import gc
    import random

    class Sorted:
        __del__ = [random.random() for _ in range(1_000_000)].sort

    class Node:
        __slots__ = ("first", "second")

        def __init__(self, node):
            self.first, self.second = node, self

    gc.disable()
    node = None
    for _ in range(800_000):
        node = Node(node)
    sys.graph = [node, Sorted()]
    atexit.register([random.random() for _ in range(1_500_000)].sort)
    gc.enable()


if sys.argv[1] == CHILD:
    cpu, wall = work()
    last_lines()
    print(cpu, wall, time.process_time(), time.monotonic(), flush=True)
else:
    truth = Truth(sys.argv[1])
    child = subprocess.Popen([sys.executable, __file__, CHILD], stdout=subprocess.PIPE)
    cpu, wall, cpu_at_end, ended_at = map(float, child.stdout.readline().split())
    child.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    now = time.monotonic()
    child.returncode = status
    assert status == 0
    truth.add("work", cpu, wall)
    truth.other_processes = 1
    truth.told["ending"] = {"wall_s": now - ended_at, "cpu_s": usage.ru_utime + usage.ru_stime - cpu_at_end}
    truth.write()
