"""Spends its time in operations whose operands are known; each function is one of them. Valid from 3.8 on.

operations.py SECONDS NAME… runs each named function for so long."""

import math
import re
import sys
import time

HAYSTACK = list(range(10000))
UNSORTED = [(i * 7919) % 5003 for i in range(5003)]
NUMBERS = tuple(range(3000))
BIG, LARGE = (1 << 400000) - 3, (1 << 500000) - 5
TABLE = {"key%d" % i: i for i in range(1000)}
TEXT = "a" * 3000
PATTERN = re.compile("(a?){20}b")
BYTES = bytes(20000)
UNIQUE = set(range(777))
ENDING = frozenset(range(50))


class Bag:
    """Has a C function of its own as an attribute."""

    def __init__(self):
        self.items = []


def until(end):
    return time.perf_counter() < end


def in_list(end):
    while until(end):
        for _ in range(20):
            -1 in HAYSTACK


def in_tuple(end):
    while until(end):
        for _ in range(20):
            -1 in NUMBERS


def add_ints(end):
    a, b = BIG, LARGE
    while until(end):
        for _ in range(100):
            a + b


def multiply_ints(end):
    a, b = BIG, LARGE
    while until(end):
        for _ in range(5):
            a * b


def subscript_dict(end):
    d, k = TABLE, "key5"
    while until(end):
        for _ in range(1000):
            d[k]


def subscript_slice(end):
    b, s = BYTES, slice(0, 20000, 3)
    while until(end):
        for _ in range(20):
            b[s]


def call_sorted(end):
    while until(end):
        for _ in range(5):
            sorted(UNSORTED)


def call_sum(end):
    while until(end):
        for _ in range(5):
            sum(NUMBERS)


def call_match(end):
    while until(end):
        PATTERN.match(TEXT)


def call_method(end):
    text = TEXT
    while until(end):
        for _ in range(20):
            text.count("ab")


def call_bound(end):
    count = UNSORTED.count
    while until(end):
        for _ in range(5):
            count(-1)


def call_keywords(end):
    while until(end):
        for _ in range(5):
            sorted(UNSORTED, reverse=True)


def call_star(end):
    arguments = (UNSORTED,)
    while until(end):
        for _ in range(5):
            sorted(*arguments)


def call_type(end):
    while until(end):
        for _ in range(20):
            list(NUMBERS)


def call_module(end):
    while until(end):
        for _ in range(20):
            math.factorial(300)


def compare_lists(end):
    a, b = HAYSTACK, list(HAYSTACK)
    while until(end):
        for _ in range(10):
            a == b


def in_generator(end):
    def run():
        while until(end):
            for _ in range(5):
                yield sorted(UNSORTED)

    for _ in run():
        pass


def numpy_add(end):
    import numpy

    a = numpy.ones(100000, "float32")
    while until(end):
        for _ in range(5):
            a + a


def numpy_dot(end):
    import numpy

    a = numpy.ones((120, 120))
    while until(end):
        for _ in range(5):
            numpy.dot(a, a)


def mixed_pairs():
    """What mixed() works with; made elsewhere, for that has operands, too."""
    return [((1 << 20000000) - 3, (1 << 25000000) - 5), ([1] * 300000, [2] * 300000), ("x" * 3000000, "y" * 3000000),
            (b"x" * 3000000, b"y" * 3000000), ((1,) * 300000, (2,) * 300000), (1.5, 2.5), (1, 2)]


def mixed(end):
    """Operands of many types, another one each time: the types seen must be among these. Most last."""
    pairs = mixed_pairs()
    while until(end):
        for a, b in pairs:
            c = a + b
            c == a


def short(end):
    """Nothing lasts; slots are used by objects of other types in turn."""
    d, k, s, x = TABLE, "key7", "text", 1.5
    while until(end):
        for i in range(200):
            d[k]
            s + k
            x * x
            i + 3
            len(k)
            abs(x)
            k in d


if __name__ == "__main__":
    for name in sys.argv[2:]:
        globals()[name](time.perf_counter() + float(sys.argv[1]))
