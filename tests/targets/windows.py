"""A program that knows how long each of its threads was in each function in any part of its run.

    windows.py SECONDS      prints a JSON object: thread → list of [function, CLOCK_MONOTONIC seconds it was entered at]

Planted: three functions with planted shares, in turns of random length. Left and Right fight for the GIL while they do the
same. Sleeper naps and works in turns. A stay in a function lasts until the next one of that thread is entered.
"""
import json
import random
import sys
import threading
import time

now = time.monotonic


def spin(until):
    while now() < until:
        pass


def named(name, function):
    """The same code under another name, as time is told by names."""
    code = function.__code__.replace(co_name=name)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=name)
    return type(function)(code, globals(), name)


def body(until):
    spin(until)


def nap(until):
    time.sleep(max(0, until - now()))


THREADS = {  # of each function its mean turn in ms
    "Planted": {"planted_a": 3, "planted_b": 5, "planted_c": 2},
    "Left": {"left_a": 6, "left_b": 4},
    "Right": {"right_a": 3, "right_b": 7},
    "Sleeper": {"sleeper_nap": 4, "sleeper_work": 2},
}


def turns(thread, end, stays):
    dice = random.Random(thread)
    kinds = [(name, mean / 1000, named(name, nap if name.endswith("nap") else body))
             for name, mean in THREADS[thread].items()]
    while now() < end:
        for name, mean, function in kinds:
            length = dice.expovariate(1 / mean)
            begun = now()
            stays.append((name, begun))
            function(begun + length)


def main(seconds):
    end = now() + seconds
    stays = {name: [] for name in THREADS}
    threads = [threading.Thread(target=turns, name=name, args=(name, end, stays[name])) for name in THREADS]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for name in THREADS:
        stays[name].append(("", now()))
    print(json.dumps(stays))


if __name__ == "__main__":
    main(float(sys.argv[1]))
