"""Ways of calling, each of a length to measure: prints for each "name seconds units", by its own clock.

A phase comes in pieces, and before and after each runs a piece of work of fixed size that is one call of a C function, so that no
tracing makes it slower. `units` is the phase's time in units of that work: how long it took, whatever the pace of the CPU was.
"""
import sys
import time
from collections import deque

PIECES = 40
TABLE = list(range(100000, 100400))


def unit():
    """Seconds of the fixed work just now: the lesser of two, as the CPU may be taken away during one."""
    least = 1.0
    for _ in range(2):
        began = time.perf_counter()
        deque(map(str, TABLE), 0)
        least = min(least, time.perf_counter() - began)
    return least



def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def recursion(n):
    for _ in range(n):
        fib(17)


def builtins(n):
    items = []
    for i in range(n * 3000):
        items.append(ord("a"))
        len(items)
        abs(i)
        if len(items) > 1000:
            items.clear()


class Point:
    def __init__(self, x):
        self.x = x

    def step(self, d):
        self.x = (self.x + d) % 1000003
        return self.x

    def far(self, d):
        return self.step(d) + self.step(-d)


def methods(n):
    p = Point(1)
    for i in range(n * 900):
        p.far(i)


def numbers(n):
    for i in range(n):
        yield i


def doubled(source):
    for i in source:
        yield i * 2


def generators(n):
    for _ in range(n):
        for _ in doubled(numbers(2200)):
            pass


def handle(record):
    fields = record.split(",")
    fields.sort()
    key = "-".join(fields).upper()
    return hash(key) ^ sum(map(int, fields)) ^ max(fields, key=len).count("1")


def work(n):
    records = [",".join(str(i * k) for k in range(30)) for i in range(10)]
    for _ in range(n * 4):
        for record in records:
            handle(record)


def pieces(phase, n):
    seconds = units = 0.0
    before = unit()
    for _ in range(PIECES):
        began = time.perf_counter()
        phase(n)
        took = time.perf_counter() - began
        after = unit()
        seconds += took
        units += took / (before + after) * 2
        before = after
    return seconds, units


if __name__ == "__main__":
    size = max(1, int(sys.argv[1]) // PIECES)
    for phase in (recursion, builtins, methods, generators, work):
        print(phase.__name__, *pieces(phase, size))
