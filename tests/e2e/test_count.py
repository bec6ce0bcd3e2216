"""What `run --count=lines,opcodes` counts, on every interpreter, against counters written in Python."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from interpreters import EXPECTED, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
NODES = LEADLINE.parent / "tests" / "nodes"
TARGETS = ROOT / "tests" / "targets"
SECONDS = 100
DERIVED = ("3.12", "3.13", "3.13t", "3.14", "3.15")


def say(label, oracle, program):
    """What an oracle, which lies beside the program, prints last."""
    r = subprocess.run(require(label).command(str(program.with_name(oracle)), str(program)), capture_output=True, text=True,
                       timeout=SECONDS)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stderr.splitlines()[-1])


def count(label, script, oracle, *options):
    """(what is in the recording of a script, what an oracle says of it, the program)"""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        for file in (script, TARGETS / oracle):
            shutil.copy(file, folder)
        program = Path(folder) / script.name
        r = subprocess.run([LEADLINE, "run", "-o", f"{own}/x.lead", *options, "--", *require(label).command(str(program))],
                           env={**os.environ, "TMPDIR": shared_folder(label)}, capture_output=True, text=True, timeout=SECONDS)
        assert r.returncode == 0, r.stderr
        said = json.loads(subprocess.run([NODES, f"{own}/x.lead"], check=True, stdout=subprocess.PIPE, timeout=SECONDS).stdout)
        return said, say(label, oracle, program), str(program)


def instructions(said, program):
    """{(function, first line, bytes of code): hits by code unit}, over the threads."""
    last = {(i["tid"], i["code"]): i for i in said["instructions"] if i["file"] == program}
    found = defaultdict(Counter)
    for i in last.values():
        found[i["name"], i["first_line"], i["code_bytes"]].update({2 * unit: n for unit, n in enumerate(i["hits"])})
    return found


@pytest.mark.parametrize("what, lines, opcodes", [("opcodes", False, True), ("lines", True, False), ("lines,opcodes", True, True), ("calls", False, False)])
def test_only_what_was_counted_is_told(tmp_path, what, lines, opcodes):
    script = tmp_path / "x.py"
    script.write_text("for i in range(10): pass\n")
    r = subprocess.run([LEADLINE, "run", f"--count={what}", "-o", tmp_path / "x.lead", "--python", sys.executable, script], capture_output=True, text=True,
                       timeout=SECONDS)
    for text in (r.stderr, subprocess.run([LEADLINE, "report", "--lines", tmp_path / "x.lead"], capture_output=True, text=True, timeout=SECONDS).stdout):
        assert (" lines run" in text) == lines and " 0 lines" not in text and (" instructions run" in text) == opcodes, text


CALLER = """
def inner(n):
    for i in range(n):
        pass
def outer():
    for i in range(300):
        inner(4000)
outer()
"""


def test_what_the_sampler_saw_first_is_counted_all_the_same(tmp_path):
    """It sees the caller, never as the innermost function, and so does not read its bytecode. On a busy machine it samples for a while even
    where nobody asked it to, until the agent is there."""
    script = tmp_path / "x.py"
    script.write_text(CALLER)
    told = []
    for i, options in enumerate([[], ["--sample"]]):
        r = subprocess.run([LEADLINE, "run", "--count=opcodes", *options, "-n", "0", "-o", tmp_path / f"{i}.lead", "--python", sys.executable, script],
                           capture_output=True, text=True, timeout=SECONDS)
        assert r.returncode == 0, r.stderr
        told.append({name: int(n) for n, name in re.findall(r"^ *(\d+) .*x\.py:\d+\((inner|outer|<module>)\)$", r.stderr.split("instructions run")[1], re.MULTILINE)})
    assert told[0] == told[1] and told[0].keys() >= {"inner", "outer"}, told


def check_instructions(said, theirs, program):
    ours = instructions(said, program)
    counted = 0
    for *code, hits in theirs:
        mine = ours[tuple(code)]
        wrong = {int(at): (mine[int(at)], n) for at, n in hits.items() if mine[int(at)] != n}
        assert not wrong, (code, wrong)
        counted += sum(hits.values())
    return counted


@pytest.mark.parametrize("label", EXPECTED)
def test_lines_are_those_of_a_counter_in_python(label):
    """Recursion, generators, coroutines in turn, exceptions, comprehensions, loops, withs, threads, exec …"""
    said, theirs, program = count(label, TARGETS / "line_corpus.py", "line_oracle.py", "--count=lines")
    last = {(c["tid"], c["code"], c["line"]): c for c in said["lines"]}
    hits = Counter()
    for c in last.values():
        if c["file"] == program and c["line"]:
            hits[c["name"], c["first_line"], c["line"]] += c["hits"]
    assert hits == {tuple(key): n for *key, n in theirs}
    assert said["losses"] == [] and said["meta"]["trace"] == "counts" and said["instructions"] == []


@pytest.mark.parametrize("label", EXPECTED)
def test_instructions_are_those_of_a_counter_in_python(label):
    """The same, each instruction."""
    said, theirs, program = count(label, TARGETS / "line_corpus.py", "opcode_oracle.py", "--count=opcodes")
    assert check_instructions(said, theirs, program) > 4000
    assert all(i["derived"] == (label in DERIVED) for i in said["instructions"])
    assert said["losses"] == []


@pytest.mark.parametrize("label", EXPECTED)
def test_instructions_of_chosen_functions_with_timed_lines(label):
    """Only fib is chosen: its lines are timed, its instructions counted, nobody else's."""
    said, theirs, program = count(label, TARGETS / "line_corpus.py", "opcode_oracle.py", "--lines=fib", "--count=opcodes")
    assert {i["name"] for i in said["instructions"]} == {"fib"}
    check_instructions(said, [row for row in theirs if row[0] == "fib"], program)
    assert max(c["total_ns"] for c in said["lines"]) > 0


def test_what_it_wants_is_said():
    for what in ("--count=opcode", "--count=lines,,", "--count=calls;lines"):
        r = subprocess.run([LEADLINE, "run", what, "x.py"], capture_output=True, text=True, check=False, timeout=SECONDS)
        assert r.returncode == 125 and "--count expects calls, lines or opcodes" in r.stderr, r


SHOWN = """
def work(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += i
    return total

work(1000)
"""


def test_the_report_shows_what_was_counted(tmp_path):
    """Tables, the way they were counted, hits beside the bytecode, JSON; no times where there were none."""
    script, file = tmp_path / "shown.py", tmp_path / "x.lead"
    script.write_text(SHOWN)
    run = [LEADLINE, "run", "--count=lines,opcodes", "-n", "0", "-o", file, "--python", sys.executable, script]
    r = subprocess.run(run, capture_output=True, text=True, check=True, timeout=SECONDS)
    assert "lines run, counted without a clock" in r.stderr and "instructions run, counted" in r.stderr
    page = json.loads(subprocess.run([LEADLINE, "report", "--json", "--bytecode", "work", file], check=True,
                                     stdout=subprocess.PIPE, timeout=SECONDS).stdout)
    shown = page["bytecode"][0]["instructions"]
    assert max(i["hits"] for i in shown) >= 1000 and next(i for i in shown if i["opname"] == "FOR_ITER")["hits"] == 1001
    assert page["opcodes"]["way"] == ("blocks" if sys.version_info >= (3, 12) else "each")
    work = next(f for f in page["opcodes"]["functions"] if f["name"] == "work")
    assert work["executed"] == sum(i["hits"] for i in shown)
    assert any(line["hits"] == 500 and line["total"] is None for line in page["lines"])
    text = subprocess.run([LEADLINE, "report", "--bytecode", "work", file], check=True, text=True, stdout=subprocess.PIPE,
                          timeout=SECONDS).stdout
    assert "hits" in text and "1001" in text
    for asked in (["export", "--force", file, "--format", "lprof", "-o", tmp_path / "x.lprof"], ["report", "--line-profiler", file]):
        r = subprocess.run([LEADLINE, *asked], capture_output=True, text=True, check=False, timeout=SECONDS)
        assert r.returncode == 2 and ("timed" in r.stderr or "times" in r.stderr), r
