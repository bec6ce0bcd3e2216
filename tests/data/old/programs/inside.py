import sys
import time

import leadline


def burn(seconds):
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        for row in range(300):
            total += row * row % 7
    return total


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


how, output = sys.argv[1:]
with getattr(leadline, how)(*([burn, fib] if how == "lines" else [])) as recorder:
    if how == "sample":
        burn(0.12)
    else:
        burn(0.01)
        fib(9)
recorder.save(output)
