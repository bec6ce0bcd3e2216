"""A function of many instructions that stays hot, for the view of its bytecode. Valid from 3.8 on.

expressions.py SECONDS runs it; expressions.py --dis prints what dis says of it as JSON."""

import dis
import json
import sys
import time


class Point:
    """Something with an attribute."""

    def __init__(self, x):
        self.x = x


def work(points, a, b, c):
    total = 0
    for p in points:
        d = a + b * c
        if p.x < 50 and p.x not in {1, 2, 3}:
            total += d - len(points)
        elif p.x > 60 * 60 * 24:
            total -= abs(p.x)
        try:
            total += points[0].x
        except KeyError as e:
            print(f"{e!r:>10}", total, *points, sep="-")
        with_names = [q for q in (1, 2.5, "text", b"raw", None, True, ...)]
        total += len(with_names)
    return total


def shown():
    rows = []
    for i in dis.get_instructions(work):
        is_jump = i.arg is not None and (i.opcode in dis.hasjrel or i.opcode in dis.hasjabs)
        said = "" if i.arg is None or i.opname == "EXTENDED_ARG" else i.argrepr
        if i.opname == "KW_NAMES":
            said = repr(work.__code__.co_consts[i.arg])
        rows.append([i.offset, i.opname, i.arg, "to %d" % i.argval if is_jump else said])
    entries = []
    if hasattr(dis, "_parse_exception_table"):
        entries = [[e.start, e.end - 2, e.target, e.depth, e.lasti] for e in dis._parse_exception_table(work.__code__)]
    lines = [[offset, line] for offset, line in dis.findlinestarts(work.__code__) if line is not None]
    return {"rows": rows, "exceptions": entries, "lines": lines}


if sys.argv[1] == "--dis":
    json.dump(shown(), sys.stdout)
else:
    points = [Point(i) for i in range(100)]
    end = time.perf_counter() + float(sys.argv[1])
    work(points, 1, 2, 3)  # once at least, however long others have the CPU
    while time.perf_counter() < end:
        work(points, 1, 2, 3)
