"""A function whose lines spend their time in themselves, in a Python function, in a C function, in both by turns; prints what it measured."""

import json
import sys
import time

took = {}


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def timed(name, function, *args):
    begun = time.perf_counter()
    function(*args)
    took[name] = took.get(name, 0) + time.perf_counter() - begun


def work(n):
    total = 0
    for i in range(n): total += i * i  # own
    spin(0.03)  # python
    sorted(range(n, 0, -1), key=str)  # builtin
    again(2)  # recursive
    for _ in steps(3): pass  # generator
    return total


def again(depth):
    spin(0.01)
    if depth:
        again(depth - 1)


def steps(n):
    for _ in range(n):
        spin(0.005)
        yield


timed("work", work, 300000)
sys.stdout.write(json.dumps(took))
