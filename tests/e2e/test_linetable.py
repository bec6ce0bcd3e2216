"""The decoder of line tables against the interpreters themselves, instruction by instruction.

In every interpreter a script compiles the standard library and the sources below, and dumps each code object with
the positions that this interpreter gives its instructions; targets/positions.c decodes the same tables and compares.
"""

import os
import re
import struct
import subprocess
import textwrap
from pathlib import Path

import pytest
from interpreters import EXPECTED, require

LEADLINE = Path(os.environ.get("LEADLINE") or Path(__file__).resolve().parents[2] / "build" / "leadline")
POSITIONS = LEADLINE.parent / "tests" / "positions"
SECONDS = 300

# Runs inside the interpreter under test, so it must be valid from 3.8 on. It is told SOURCES and EVERY.
DUMPER = r'''
import ast, ctypes, dis, itertools, os, struct, sys, types

VERSION = sys.version_info[:2]
SKIPPED = {"test", "tests", "site-packages", "dist-packages", "__pycache__"}
out = sys.stdout.buffer


def line_runs(code):
    """3.8 to 3.10: [(n_units, line, None, None, None)], without gaps."""
    length = len(code.co_code)
    if VERSION >= (3, 10):
        ranges = list(code.co_lines())
    else:
        starts = list(dis.findlinestarts(code))
        ends = [start for start, _ in starts[1:]] + [length]
        ranges = [(start, end, line) for (start, line), end in zip(starts, ends)]
    at = 0
    for start, end, line in ranges:
        assert start == at and start % 2 == 0, (code, ranges)
        at = end
        if end > start:
            yield ((end - start) // 2, line, None, None, None)
    assert at == length, (code, ranges)


def runs(code):
    if VERSION < (3, 11):
        return list(line_runs(code))
    return [(sum(1 for _ in same), *position) for position, same in itertools.groupby(code.co_positions())]


def count_instructions(code):
    opcodes = code.co_code[::2]
    return len(opcodes) - (opcodes.count(dis.opmap["CACHE"]) if "CACHE" in dis.opmap else 0)


def ask_the_interpreter(code, code_runs):
    """A second opinion: the C function behind f_lineno must say what the runs say."""
    address = 0
    for n, line, *_ in code_runs:
        for _ in range(n):
            said = ctypes.pythonapi.PyCode_Addr2Line(ctypes.py_object(code), address)
            assert said == (-1 if line is None else line), (code, address, said, line)
            address += 2


def dump(code, name):
    table = code.co_lnotab if VERSION < (3, 10) else code.co_linetable
    code_runs = runs(code)
    if len(code.co_code) <= 400:
        ask_the_interpreter(code, code_runs)
    label = ("%s:%s" % (name, code.co_name)).encode("utf-8", "replace")
    out.write(struct.pack("=6I", code.co_firstlineno, len(code.co_code), len(label), len(table), len(code_runs),
                          count_instructions(code)))
    out.write(label + table)
    for run in code_runs:
        out.write(struct.pack("=I4i", *[-1 if v is None else v for v in run]))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            dump(constant, name)


def standard_library():
    """(name, bytes) of every module but the tests; of each EVERY-th one."""
    top = os.path.dirname(os.__file__)
    paths = []
    for folder, below, files in os.walk(top):
        below[:] = sorted(set(below) - SKIPPED)
        paths += [os.path.join(folder, file) for file in sorted(files) if file.endswith(".py")]
    for path in paths[::EVERY] if EVERY else []:
        with open(path, "rb") as stream:
            yield os.path.relpath(path, top), stream.read()


def moved_lines():
    """A tree whose statements jump to lines far away and back."""
    tree = ast.parse("def f(a):\n  x = a\n  y = a(x,\n    x)\n  return y\nz = f\n")
    body = tree.body[0].body
    for statement, line in zip(body, (2000000, 3, 70000000)):
        ast.increment_lineno(statement, line)
    return tree


def main():
    modules = 0
    sys.setrecursionlimit(20000)
    out.write(bytes(VERSION))
    for name, text in standard_library():
        modules += 1
        dump(compile(text, name, "exec", dont_inherit=True), name)
    for name, (since, text) in SOURCES.items():
        if VERSION >= since:
            dump(compile(text, name, "exec", dont_inherit=True), name)
    if EVERY:
        dump(compile(moved_lines(), "moved", "exec", dont_inherit=True), "moved")
    out.flush()
    print(modules, file=sys.stderr)


main()
'''


def huge_function():
    """More than 65 536 instructions, over lines of several shapes."""
    body = "".join(
        f"    x = f(a, {i})\n    if x:\n        y = [a,\n             x, {i}]\n" for i in range(5000)
    )
    return f"def huge(f, a):\n{body}    return x\n"


def long_ranges():
    """One line with thousands of instructions, long columns, and gaps of many lines."""
    one_line = "x = [" + ", ".join(f"f(a{i % 7}, b)" for i in range(3000)) + "]\n"
    gaps = (1, 126, 127, 128, 129, 300, 7000)
    gaps = "".join("\n" * n + f"    a({n},\n" + "\n" * n + "      a)\n" for n in gaps)
    widths = (8, 15, 16, 40, 70, 80, 100, 120, 128, 250, 2000, 70000)
    wide = "".join(f"    x = a({' ' * n}a + a, {'b' * n}) + a\n" for n in widths)
    return f"{one_line}def gaps(a):\n{gaps}def wide(a):\n{wide}"


# name: (first version that compiles it, source)
SOURCES = {
    "calls": ((3, 8), textwrap.dedent('''
        def calls(a, b, c):
            x = max(
                a,
                b,
            )
            y = a.first(
                b
            ).second(
                c,
                key=lambda v: (
                    v.left,
                    v.right))[
                0
            ]
            return (x
                    + y
                    * a(
                        b, *c,
                        **{'k':
                           1})
                    - c)
        print(calls
              (1,
               2, 3))
        ''')),
    "decorators": ((3, 8), textwrap.dedent('''
        import functools

        @functools.lru_cache(
            maxsize=None,
        )
        @functools.wraps(
            print
        )
        def decorated(a=[
            1, 2,
        ], *,
                b: int
                = 3) -> (
                    "result"):
            """Text
            over lines."""
            return a

        @functools.total_ordering
        class Decorated(
            object,
            metaclass=type,
        ):
            """Text."""
            x: int = 1

            @property
            def p(self): return self.x
            @p.setter
            def p(self, v): self.x = v
        ''')),
    "one line": ((3, 8), textwrap.dedent('''
        f = lambda a: lambda b: [lambda c: a + b + c + d for d in (a, b)]; g = lambda: (yield)
        h = (lambda *a, **k: (a, k))(1, x=(lambda: 2)()); i = [lambda: j for j in h], (lambda: 3)
        if f: a = 1; b = 2
        for i in f: a; b; continue
        while f: break
        try: a
        except: b
        ''')),
    "comprehensions": ((3, 8), textwrap.dedent('''
        def comprehensions(rows):
            a = [
                x * y
                for x in rows
                if x
                for y in (
                    z for z in range(x)
                    if z
                    % 2
                )
                if y
            ]
            b = {
                k:
                v
                for k,
                v in rows.items()
            }
            c = {x for x in (y
                             for y in rows)}
            return [[[i for i in j] for j in k] for k in a], b, c
        ''')),
    "cleanup": ((3, 8), textwrap.dedent('''
        def cleanup(f, g):
            try:
                with f() as a, \\
                        g(
                            a) as b:
                    return a if b else (
                        b)
            except (ValueError,
                    TypeError) as e:
                raise RuntimeError(
                    "x"
                ) from e
            except OSError as e:
                pass
            except Exception:
                try:
                    f()
                finally:
                    g()
            else:
                g(); f()
            finally:
                for x in f():
                    if x:
                        continue
                    try:
                        break
                    finally:
                        del x
                else:
                    return 1
                while True:
                    try:
                        f()
                    except KeyError as k:
                        continue
                    finally:
                        g()
        def unreachable(a):
            if 0:
                never()
            while 1:
                a()
                if a: return
            never()
        def asserts(a):
            assert a, (
                "message %s"
                % a)
            if __debug__:
                a()
            return not (a
                        and a.b
                        or a.c)
        ''')),
    "generators": ((3, 8), textwrap.dedent('''
        def generator(n):
            """Text."""
            for i in range(
                    n):
                got = yield (
                    i)
                if got: yield from generator(
                    n - 1)
            return n
        async def coroutine(a):
            async with a as b, \\
                    a:
                async for c in b(
                        a):
                    await c(
                        await a)
                else:
                    return [
                        await d
                        async for d in a
                        if await d
                    ]
            return {k: v async for k, v in a}
        async def async_generator(a):
            try:
                yield a
                yield (
                    await a)
            except GeneratorExit:
                raise
            finally:
                await a
        ''')),
    "strings": ((3, 8), textwrap.dedent('''
        def strings(größe, 変数, x):
            ß = größe + 変数; 字 = "漢字" "😀" + größe(変数, "é")[x]
            text = f"""one {größe
                } two {変数!r:>{x}} {
                    x(größe, 変数)}
            """ f"{x:{x}}" + 字
            return """a
            b""" + text.format(
                ß) % """c
            d"""
        ''')),
    "statements": ((3, 8), textwrap.dedent('''
        import os, sys; from os import (path,
            sep as s)
        global_name = a = b, *c = 1, 2, 3
        def statements(a, *b, c=1, **d):
            global global_name
            global_name = a[
                b:c,
                ...] = 1
            del a[0
                  ], b
            x = (y := a,
                 a < b
                 < c)
            def inner():
                nonlocal x
                x = a; return c
            return inner if (a and
                             b) else (
                                 inner())
        class A:
            def __init__(self): super().__init__()
            class B:
                x = [i for i in
                     range(3)]
        ''')),
    "match": ((3, 10), textwrap.dedent('''
        def match(x):
            match x:
                case {"a": [1, *rest], **others} if (
                        rest):
                    return rest
                case A(
                    b=1 |
                    2,
                ) as c:
                    return c
                case -1 | "s" | None:
                    pass
                case _:
                    with (x as a,
                          x as b):
                        return a
        ''')),
    "groups": ((3, 11), textwrap.dedent('''
        def groups(f):
            try:
                f()
            except* ValueError as e:
                f(
                    e)
            except* (TypeError,
                     OSError):
                raise
            finally:
                f[*f,
                  1]
        ''')),
    "generics": ((3, 12), textwrap.dedent('''
        type Alias[T: (int,
                       str), *Ts, **P] = dict[
            T, tuple[*Ts]]
        def generic[T](a: T) -> T:
            return f"{a
                : {f'{a
                }'}}"
        class Generic[T: int](list[
                T]):
            def m[U](self, u: U) -> T: return [x for x in u if (lambda: self)()]
        ''')),
    "templates": ((3, 14), textwrap.dedent('''
        def templates(a):
            t = t"one {a
                } {a!r:>{a}}"
            try:
                t
            except ValueError, TypeError:
                pass
            return t
        def annotated(a: later[
                1]) -> later: ...
        ''')),
    "huge": ((3, 8), huge_function()),
    "long": ((3, 8), long_ranges()),
    "empty": ((3, 8), ""),
    "form feeds": ((3, 8), "\f\n\n\nx = 1\r\ndef f():\r\n\r\n  return (\r\n x)\r\n"),
}


def dump(label, *options, every=0, sources=SOURCES):
    """What an interpreter says: (dump, number of library modules in it); of the library each every-th module."""
    script = f"SOURCES = {sources!r}\nEVERY = {every}\n{DUMPER}"
    done = subprocess.run(
        require(label).command("-I", "-B", *options, "-"),
        input=script.encode(),
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return done.stdout, int(done.stderr.split()[-1])


def positions(dumped, *options):
    return subprocess.run([POSITIONS, *options], input=dumped, capture_output=True, check=False, timeout=SECONDS)


def compare(dumped):
    """The counts of a comparison in which nothing differs."""
    done = positions(dumped)
    text = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == 0, text
    counts = {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", text.splitlines()[-1])}
    assert counts["wrong"] == 0
    return counts


every_interpreter = pytest.mark.parametrize("label", EXPECTED)
with_columns = pytest.mark.parametrize("label", [x for x in EXPECTED if x not in ("3.8", "3.9", "3.10")])


def compare_library(label, *options, every):
    """Holds the counts to what they must be, and prints them."""
    dumped, modules = dump(label, *options, every=every)
    counts = compare(dumped)
    print(
        f"\n{label} {' '.join(options) or '(plain)'}: {counts['instructions']} instructions ({counts['units']} units)"
        f" in {counts['codes']} code objects of {modules} modules, all agree"
    )
    assert modules >= 400 / every
    assert counts["instructions"] > 800_000 / every
    assert counts["units"] >= counts["instructions"]
    assert counts["largest_code"] > 65_536
    if label not in ("3.8", "3.9"):
        assert counts["without_line"] > 0
    if label in ("3.8", "3.9", "3.10"):
        assert counts["largest_table"] > 1 << 20  # of moved lines


@every_interpreter
def test_every_instruction_of_the_standard_library(label):
    compare_library(label, every=1)


@every_interpreter
def test_without_assertions_and_docstrings(label):
    compare_library(label, "-OO", every=4)


@with_columns
def test_without_debug_ranges(label):
    options = ("-X", "no_debug_ranges")
    compare_library(label, *options, every=4)
    shown = positions(dump(label, *options, sources={"calls": SOURCES["calls"]})[0], "--print").stdout.decode()
    places = re.findall(r"^ +\d+ (-?\d+)-(-?\d+):(-?\d+)-(-?\d+)$", shown, re.MULTILINE)
    assert len(places) > 50
    assert {place[2:] for place in places} == {("-1", "-1")}


@every_interpreter
def test_what_is_printed_is_what_a_reader_sees(label):
    """The columns cut the very text out of the source that the instruction was made for."""
    source = "x = [\n    größe(1,\n          変数),\n]\n"
    shown = positions(dump(label, sources={"seen": ((3, 8), source)})[0], "--print").stdout.decode()
    places = [tuple(map(int, p)) for p in re.findall(r"^ +\d+ (-?\d+)-(-?\d+):(-?\d+)-(-?\d+)$", shown, re.MULTILINE)]
    lines = source.encode().split(b"\n")
    assert {2, 3} <= {line for line, *_ in places}
    if label in ("3.8", "3.9", "3.10"):
        assert {place[1:] for place in places} == {(-1, -1, -1)}
        return
    texts = {lines[a - 1][c:d].decode() for a, b, c, d in places if a == b > 0 and c >= 0}
    assert {"größe", "1", "変数", "x"} <= texts
    assert (2, 3, 4, 17) in places  # the call


def test_a_difference_would_be_noticed():
    """The comparison itself: one value changed, one unit more, a table cut short."""
    head, table, run = struct.Struct("=6I"), b"\x81\x00\xd8\x01\x02", struct.Struct("=I4i")
    runs = [(2, 7, 7, 0, 0), (1, 8, 8, 1, 2)]

    def status(runs, table=table):
        packed = b"".join(run.pack(*r) for r in runs)
        dumped = bytes((3, 12)) + head.pack(7, 6, 1, len(table), len(runs), 3) + b"f" + table + packed
        return positions(dumped).returncode

    assert status(runs) == 0
    for which in range(5):
        assert status([runs[0], tuple(v + (i == which) for i, v in enumerate(runs[1]))]) == 1
    assert status([(1, *runs[0][1:]), runs[1]]) == 1
    assert status(runs, table[:-1]) == 1
    assert positions(b"\x03").returncode == 2
