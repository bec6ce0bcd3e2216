"""Pools of two processes of multiprocessing's forkserver, with tasks of 5 ms: forkserver.py TRUTH [SECONDS]"""
import multiprocessing
import os
import sys
import time
from multiprocessing import forkserver, resource_tracker

from stamps import Truth, burn

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3


def task(_):
    wall, cpu = time.monotonic(), time.thread_time()
    burn(0.005)
    return os.getpid(), time.thread_time() - cpu, time.monotonic() - wall


def run_pools(truth, end):
    pids = set()
    context = multiprocessing.get_context("forkserver")
    while time.monotonic() < end:
        with context.Pool(2) as pool:
            for pid, cpu, wall in pool.map(task, range(60), 1):
                pids.add(pid)
                truth.add("task", cpu, wall)
            pool.close()
            pool.join()
        truth.threads += 3  # of the pool, in this process
    return pids


def main():
    truth = Truth(sys.argv[1])
    pids = run_pools(truth, time.monotonic() + SECONDS)
    # Both are waited for, so that their CPU time counts for this process.
    resource_tracker._resource_tracker._stop()
    forkserver._forkserver._stop()
    truth.other_processes = len(pids) + 2
    truth.write()


if __name__ == "__main__":
    main()
