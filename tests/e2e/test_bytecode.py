"""Instructions, arguments, jump targets, exception tables and stack effects, held against dis of every interpreter.

In every interpreter a script disassembles modules of the standard library and dumps what its own dis says of them;
targets/disassembly.c decodes the same bytes and compares.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import EXPECTED, inside, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
EXPRESSIONS = ROOT / "tests" / "targets" / "expressions.py"
DISASSEMBLY = LEADLINE.parent / "tests" / "disassembly"
SECONDS = 300

# Runs inside the interpreter under test, so it must be valid from 3.8 on.
DUMPER = r'''
import dis, os, struct, sys, types

MINOR = sys.version_info[1]
NONE = -(1 << 31)
MODULES = """argparse ast asyncio.base_events asyncio.tasks bisect calendar codecs collections.__init__ configparser
contextlib copy csv dataclasses datetime decimal difflib doctest email.message enum fractions functools heapq http.client
inspect json.decoder logging.__init__ optparse pickle platform pprint random re shutil ssl statistics subprocess tarfile
tempfile textwrap threading traceback turtle typing unittest.mock urllib.request zipfile""".split()
EXTRA = """
async def f(a, *b, **c):
    async with a as x, c['k'] as y:
        async for z in x:
            await z(*b, **c)
            yield z
    return
def g(s, d):
    try:
        with s as t:
            d[1:2] = t[3:4]
            del d[0], s.x
    except* ValueError as e:
        raise
    finally:
        print(f'{d!r:>10} {s}', *s, **d)
    x, *y = {**d}, [*s], {*s}
    return [a + b * 2 for a, b in y if a not in x]
def h(v):
    match v:
        case {'k': k, **rest}: return k, rest
        case [1, *_] | (2, 3): return ~+-v
        case int(real=r): return r
class C(dict):
    n: int = 1
    def m(self): return super().m(lambda: self) and __class__
""" + "def big(a):\n" + "".join("  a.n%d(n%d)\n" % (i, i) for i in range(400)) + "  while a:\n" + "    b = %s\n" % "+".join(
    "a[%d]" % i for i in range(900))
out = sys.stdout.buffer


def text(s):
    data = s.encode("utf-8", "surrogatepass")
    out.write(struct.pack("=I", len(data)) + data)


def effect(i, jump):
    if MINOR == 11 and i.opname == "PRECALL" or i.opname == "RETURN_GENERATOR" or i.opname == "CACHE":
        return NONE
    if MINOR >= 14 and i.opname in ("RETURN_VALUE", "ENTER_EXECUTOR"):
        return NONE
    if MINOR == 11 and i.opname == "CALL":
        return -1 - i.arg  # dis counts PRECALL and CALL together
    return dis.stack_effect(i.opcode, i.arg, jump=jump)


def argument(i, code):
    """(target, text), the text without labels."""
    if i.arg is None:
        return -1, ""
    if i.opname == "END_ASYNC_FOR":
        return -1, ""
    if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
        return i.argval, "to %d" % i.argval
    if i.opname == "EXTENDED_ARG":
        return -1, ""
    if i.opname == "KW_NAMES":  # 3.11 leaves them out
        return -1, repr(code.co_consts[i.arg])
    return -1, i.argrepr


def handlers(code):
    if MINOR < 11:
        return []
    return [(e.start, e.end, e.target, e.depth, e.lasti) for e in dis._parse_exception_table(code)]


def dump(code, name):
    found = list(dis.get_instructions(code))
    locals_ = code.co_varnames
    if MINOR >= 11:
        locals_ = [code._varname_from_oparg(i) for i in range(len(set(
            code.co_varnames + code.co_cellvars + code.co_freevars)))]
    frees = code.co_cellvars + code.co_freevars
    table = code.co_exceptiontable if MINOR >= 11 else b""
    rows = handlers(code)
    out.write(struct.pack("=9I", len(code.co_code), len(table), len(code.co_consts), len(code.co_names), len(locals_),
                          len(frees), len(found), len(rows), code.co_stacksize))
    text(name + ":" + code.co_name)
    out.write(code.co_code + table)
    for words in ([repr(c) for c in code.co_consts], code.co_names, locals_, frees):
        for word in words:
            text(word)
    for i in found:
        target, said = argument(i, code)
        out.write(struct.pack("=Iiiii", i.offset, -1 if i.arg is None else i.arg, target, effect(i, False),
                              effect(i, True)))
        text(i.opname)
        text(said)
    for row in rows:
        out.write(struct.pack("=5I", *row))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            dump(constant, name)


out.write(bytes(sys.version_info[:2]))
top = os.path.dirname(os.__file__)
for module in MODULES:
    path = os.path.join(top, *module.split(".")) + ".py"
    if not os.path.exists(path):
        path = os.path.join(top, *module.split("."), "__init__.py")
    if os.path.exists(path):
        with open(path, "rb") as stream:
            dump(compile(stream.read(), module, "exec"), module)
source = EXTRA
if MINOR < 11:
    source = source.replace("except*", "except")
if MINOR < 10:
    source = source[: source.index("def h(")] + source[source.index("class C"):]
dump(compile(source, "extra", "exec"), "extra")
'''


@pytest.mark.parametrize("label", EXPECTED)
def test_instructions_are_those_that_dis_shows(label):
    """Offsets, names, arguments in words, targets, handlers and stack effects: all equal."""
    dump = subprocess.run(require(label).command("-I", "-c", DUMPER), capture_output=True, check=True, timeout=SECONDS)
    compared = subprocess.run([DISASSEMBLY], input=dump.stdout, capture_output=True, check=False, timeout=SECONDS)
    said = compared.stdout.decode()
    assert compared.returncode == 0, said + compared.stderr.decode()
    counts = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", said)}
    assert counts["codes"] > 1500 and counts["instructions"] > 80000, said
    if label not in ("3.8", "3.9", "3.10"):
        assert counts["handlers"] > 500, said
    # Unreachable code, and up to 3.8 what runs inside finally blocks.
    assert counts["without_depth"] < counts["instructions"] * {"3.8": 0.06, "3.9": 0.01}.get(label, 0.005), said


def test_the_table_of_instructions_is_what_the_interpreters_say():
    """tools/gen_opcodes.py would write the same file."""
    for label in EXPECTED:
        require(label)
    subprocess.run([sys.executable, str(ROOT / "tools/gen_opcodes.py"), "--check"], check=True, timeout=SECONDS)


def view(label, tmp_path, *options, seconds="0.8"):
    """(what report --bytecode has of the function, what dis of that interpreter has)"""
    file = tmp_path / "run.lead"
    with inside(label, EXPRESSIONS) as script:
        said = subprocess.run(
            require(label).command(str(script), "--dis"), capture_output=True, check=True, timeout=SECONDS
        )
        run = [LEADLINE, "run", *options, "-o", file, f"--report={os.devnull}", "--", *require(label).command(str(script), seconds)]
        subprocess.run(run, capture_output=True, check=True, timeout=SECONDS, env={**os.environ, "TMPDIR": shared_folder(label)})
    shown = [LEADLINE, "report", "--json", "--bytecode", "work", file]
    page = json.loads(subprocess.run(shown, capture_output=True, check=True, timeout=SECONDS).stdout)
    return page["bytecode"][0], json.loads(said.stdout)


def without_addresses(rows):
    """Where a code object lies differs from run to run, and its file is not told."""
    return [[*row[:3], re.sub(r"<code object (\S+) at .*", r"<code object \1", row[3])] for row in rows]


def check_words(ours, dis):
    rows = [[r["offset"], r["opname"], r["arg"], r["argrepr"]] for r in ours["instructions"]]
    code = [row[3] for row in dis["rows"] if row[3].startswith("<code object")]
    mine = without_addresses(rows)
    for got, want in zip(mine, without_addresses(dis["rows"]), strict=True):
        if want[3].startswith("<code object"):
            assert got[:3] == want[:3] and "listcomp" in got[3] + code[0]
        else:
            assert got == want
    assert [[e["start"], e["end"], e["target"], e["depth"], e["lasti"]] for e in ours["exceptions"]] == dis["exceptions"]


@pytest.mark.parametrize("option", ["--trace", "--count=opcodes", "--lines=work"])
@pytest.mark.parametrize("label", EXPECTED)
def test_what_was_counted_is_shown_without_samples(label, option, tmp_path):
    """The agent tells code, words and handlers of each function that is called; hits where they were counted."""
    ours, dis = view(label, tmp_path, option, seconds="0.01")
    check_words(ours, dis)
    counted = [r["hits"] for r in ours["instructions"]]
    assert max(counted) > 1 if option == "--count=opcodes" else set(counted) == {None}


@pytest.mark.parametrize("label", EXPECTED)
def test_the_view_shows_what_dis_shows(label, tmp_path):
    """Instructions with their words, lines and handlers, out of a recording; time and forms where they belong."""
    ours, dis = view(label, tmp_path)
    check_words(ours, dis)
    at = {r["offset"]: r for r in ours["instructions"]}
    assert all(at[offset]["line"] == line for offset, line in dis["lines"])
    assert sum(r["self"] for r in ours["instructions"]) == pytest.approx(ours["self"])
    multiply = next(r for r in ours["instructions"] if r["argrepr"] == "*" or r["opname"] == "BINARY_MULTIPLY")
    assert multiply["stack"][-3:] == ["a", "b", "c"]
    add = ours["instructions"][ours["instructions"].index(multiply) + 1]
    assert add["stack"][-2:] == ["a", "b * c"]
    if label not in ("3.8", "3.9", "3.10", "3.13t"):  # 3.13 without the GIL specialises nothing
        assert multiply["specialised"] == "BINARY_OP_MULTIPLY_INT"
    if label not in ("3.8", "3.9", "3.10"):
        assert next(r for r in ours["instructions"] if r["argrepr"] == "86400")["folded"] == "60 * 60 * 24"


def test_what_cannot_be_shown_is_said(tmp_path):
    """Functions that hardly a sample ended in, options without what they need."""
    file, program = tmp_path / "run.lead", tmp_path / "program.py"
    program.write_text("def busy():\n    for i in range(6_000_000): pass\n\ndef only_calls():\n    busy()\n\nonly_calls()\n")
    run = [LEADLINE, "run", "-o", file, f"--report={os.devnull}", "--", sys.executable, str(program)]
    subprocess.run(run, capture_output=True, check=True, timeout=SECONDS)
    for options, says in [
        (["--bytecode", "only_calls"], "no bytecode of"),
        (["--bytecode", "nothing_like_it"], "nothing_like_it"),
        (["--stack"], "--stack needs --bytecode"),
    ]:
        done = subprocess.run(
            [LEADLINE, "report", *options, file], capture_output=True, text=True, check=False, timeout=SECONDS
        )
        assert done.returncode == 2 and says in done.stderr, done
