"""The loop of the programs below benchmarks/: repeats a unit of work and tells how fast it went, and when.

Prints one JSON object at the end: units per second, CPU seconds of the process, and `marks`, pairs of CLOCK_MONOTONIC
seconds and units done so far, about 200 a second. Whoever looks on knows when it did what, and so reads from the
marks how fast the program was meanwhile.
"""
import json
import sys
import time

MARK_S = 0.005


def run(unit, seconds, **more):
    """Calls unit() over and over. `more` goes into the JSON object; what is callable is called at the end."""
    now = time.monotonic
    start = t = now()
    end = start + seconds
    due = start + MARK_S
    marks = [(start, 0)]
    n = 0
    while t < end:
        unit()
        n += 1
        t = now()
        if t >= due:
            marks.append((t, n))
            due = t + MARK_S
    more = {name: value() if callable(value) else value for name, value in more.items()}
    print(json.dumps({"units_per_s": n / (t - start), "cpu_s": time.process_time(), **more, "marks": marks}))
    sys.stdout.flush()
