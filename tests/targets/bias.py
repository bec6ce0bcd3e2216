"""A program that knows its own truth: sub-microsecond Python calls mixed with C calls of about 10 µs.

    bias.py SECONDS [plain|generator|exception|deep|several [SCALE]]      SCALE: makes both kinds of blocks longer (else 1)

Prints one JSON object at the end: the share of its loop's time that was spent in the short calls, measured by
itself around blocks of them, less what a block costs whose calls do nothing (the loop's own work). A sampler that waits for stacks to stand still under-reports exactly these.

several: functions with a body and functions without one, called in turn; the share is that of the bodies. A sampler
that puts a stack together of what it saw at different instants gives it to several of them, or to none.
"""
import json
import sys
import time
import types

SCALE = int(sys.argv[3]) if len(sys.argv) > 3 else 1
NUMBERS = list(range(1000 * SCALE))


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def count(n):
    for i in range(n):
        yield one(i)


def one(i):
    return i & 1


class Stop(Exception):
    pass


def fail(n):
    if n == 0:
        raise Stop
    fail(n - 1)


def descend(n):
    return fib(8) if n == 0 else descend(n - 1)


def several(body):
    """Eight functions, each of its own code object, and one that calls them in turn."""
    names = [f"{'full' if body else 'bare'}_{i}" for i in range(8)]
    space = {}
    for name in names:
        exec(f"def {name}(n):\n" + "    n += 1; n ^= 3\n" * body + "    return n\n", space)
    exec("def turns():\n    for _ in range(8):\n" + "".join(f"        {name}(1)\n" for name in names), space)
    return space["turns"]


def loop_several(seconds):
    full, bare = several(8), several(0)
    in_full = in_bare = 0.0
    now = time.perf_counter
    end = now() + seconds
    after = 0
    while after < end:
        before = now()
        full()
        middle = now()
        bare()
        after = now()
        in_full += middle - before
        in_bare += after - middle
    return (in_full - in_bare) / (in_full + in_bare)


def short_plain():
    fib(11)


def short_generator():
    sum(count(250))


def short_exception():
    for _ in range(20):
        try:
            fail(6)
        except Stop:
            pass


def short_deep():
    descend(60)


def short_nothing():
    pass


def long_calls():
    sum(NUMBERS)
    sum(NUMBERS)


def loop(seconds, short):
    """The seconds in blocks of short calls and in blocks of long ones, and the number of blocks."""
    in_short = in_long = blocks = 0
    now = time.perf_counter
    end = now() + seconds
    t = now()
    while t < end:
        for _ in range(SCALE):
            short()
        middle = now()
        long_calls()
        after = now()
        in_short += middle - t
        in_long += after - middle
        t = after
        blocks += 1
    return in_short, in_long, blocks


def named(function, name):
    """The same code under another name, so that its time is not that of the other."""
    names = {"co_name": name, "co_qualname": name} if hasattr(function.__code__, "co_qualname") else {"co_name": name}
    return types.FunctionType(function.__code__.replace(**names), globals(), name)


def share_of(seconds, short):
    idle, _, idle_blocks = named(loop, "calibration")(0.05, short_nothing)
    in_short, in_long, blocks = loop(seconds, short)
    return (in_short - idle / idle_blocks * blocks) / (in_short + in_long)


if __name__ == "__main__":
    kind = sys.argv[2] if len(sys.argv) > 2 else "plain"
    seconds = float(sys.argv[1])
    share = loop_several(seconds) if kind == "several" else share_of(seconds, globals()[f"short_{kind}"])
    print(json.dumps({"kind": kind, "short": share}))
