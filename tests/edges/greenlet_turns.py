"""Greenlets that take turns on one thread, 1 ms and 2 ms each, and one made anew for each turn: greenlet_turns.py TRUTH [SECONDS]

Needs the package `greenlet` beside it.
"""
import sys
import time

from greenlet import getcurrent, greenlet
from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3


def one():
    with TRUTH.of("one"):
        burn(0.001)


def two():
    with TRUTH.of("two"):
        burn(0.002)


def short():
    with TRUTH.of("short"):
        burn(0.001)


def take_turns(turn):
    while True:
        turn()
        getcurrent().parent.switch()


def hub(end):
    turns = [greenlet(take_turns), greenlet(take_turns)]
    while time.monotonic() < end:
        turns[0].switch(one)
        turns[1].switch(two)
        greenlet(short).switch()


hub(time.monotonic() + SECONDS)
TRUTH.write()
