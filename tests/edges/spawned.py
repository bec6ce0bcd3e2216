"""Programs of a few milliseconds, one after the other: spawned.py TRUTH [SECONDS]"""
import subprocess
import sys
import time

from stamps import Truth

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3
CHILD = """
import time
def leaf():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        for _ in range(200):
            pass
wall, cpu = time.monotonic(), time.thread_time()
leaf()
print(time.thread_time() - cpu, time.monotonic() - wall)
"""


def start(end):
    while time.monotonic() < end:
        # Not isolated and without `site`: as short as an interpreter's life gets.
        done = subprocess.run([sys.executable, "-S", "-c", CHILD], stdout=subprocess.PIPE, check=True)
        cpu, wall = map(float, done.stdout.split())
        TRUTH.add("leaf", cpu, wall)
        TRUTH.other_processes += 1


start(time.monotonic() + SECONDS)
TRUTH.write()
