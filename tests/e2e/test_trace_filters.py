"""Filters of traced calls choose rows and change no number: by thread, by process, the user's own code, what is not traced at all; in
reports, on the page and in what is exported."""

import collections
import json
import marshal
import subprocess

import conftest
import pytest
from interpreters import require
from test_view import view

LABELS = ["3.8", "3.11", "3.13"]

# The user's functions called by themselves, by C functions and by library code, after imports; in threads and a child.
PROGRAM = """
import argparse, collections, json, logging, os, re, threading, unittest

def inner(n):
    return json.dumps(list(range(n)))

def key(x):
    inner(3)
    return -x

def mine():
    for i in range(50):
        sorted(range(2), key=key)
    list(map(inner, [2] * 60))
    re.sub("a", lambda m: inner(1) and "b", "a" * 40)

threads = [threading.Thread(target=mine) for _ in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
mine()
if os.fork() == 0:
    mine()
    os._exit(0)
os.wait()
"""
TRUTH = {"mine": 4, "key": 400, "inner": 800, "<lambda>": 160}


def record(label, folder, *options):
    program = folder / "program.py"
    program.write_text(PROGRAM)
    path = folder / f"{label}{len(options)}.lead"
    subprocess.run([conftest.LEADLINE, "run", "--trace", *options, "-o", path, "--", *require(label).command(str(program))],
                   check=True, capture_output=True, timeout=120)
    return path


@pytest.fixture(scope="module", params=LABELS)
def recording(request, tmp_path_factory):
    return record(request.param, tmp_path_factory.mktemp("filters"))


def report(path, *options):
    return json.loads(subprocess.run([conftest.LEADLINE, "report", path, "--json", "-n", "1000000", *options], check=True,
                                     capture_output=True, text=True, timeout=120).stdout)


def calls_of(rows):
    """{(file, line, name): calls}"""
    sums = collections.Counter()
    for row in rows:
        sums[row["file"], row["line"], row["name"]] += row["calls"]
    return +sums


def mine_of(rows):
    """{function: calls} of the program's own."""
    sums = collections.Counter()
    for row in rows:
        if (row["file"] or "").endswith("program.py"):
            sums[row["name"].rpartition(".")[2]] += row["calls"]
    return {name: sums[name] for name in TRUTH}


def check_sums(answer):
    """The rows are what the sums say, and what is left out has its own figure."""
    trace, rows = answer["trace"], answer["functions"]
    assert trace["calls"] == sum(row["calls"] for row in rows)
    assert trace["resumes"] == sum(row["resumes"] for row in rows)
    assert trace["self"] == pytest.approx(sum(row["self"] for row in rows))
    assert trace["missing"] == 0


def test_only_mine_changes_no_number(recording):
    whole, part = report(recording), report(recording, "--only-mine")
    for answer in (whole, part):
        check_sums(answer)
        assert mine_of(answer["functions"]) == TRUTH
    assert whole["trace"]["left_out"] == 0
    assert part["trace"]["left_out"] > 1000
    assert (part["trace"]["calls"] + part["trace"]["resumes"] + part["trace"]["left_out"]
            == whole["trace"]["calls"] + whole["trace"]["resumes"])
    assert part["trace"]["self"] == pytest.approx(whole["trace"]["self"])


@pytest.mark.parametrize("more", [[], ["--only-mine"]], ids=["all", "mine"])
@pytest.mark.parametrize("by", ["thread", "process"])
def test_parts_add_up_to_the_whole(recording, by, more):
    threads = report(recording, "--threads")["threads"]
    parts = list(dict.fromkeys(str(t["tid" if by == "thread" else "pid"]) for t in threads))
    assert len(parts) == (4 if by == "thread" else 2)
    answers = [report(recording, f"--{by}", part, *more) for part in parts]
    whole = report(recording, *more)
    for answer in answers:
        check_sums(answer)
    assert sum((calls_of(answer["functions"]) for answer in answers), collections.Counter()) == calls_of(whole["functions"])
    for key in ("calls", "resumes", "left_out"):
        assert sum(answer["trace"][key] for answer in answers) == whole["trace"][key]
    assert sum(answer["trace"]["self"] for answer in answers) == pytest.approx(whole["trace"]["self"])


@pytest.mark.parametrize("options, parameters", [([], {}), (["--only-mine"], {"only_mine": 1}), (["--thread", "#2"], {"thread": "#2"}),
                                                 (["--thread", "#2", "--only-mine"], {"thread": "#2", "only_mine": 1})],
                         ids=["all", "mine", "thread", "thread-mine"])
def test_the_page_has_the_same(recording, options, parameters):
    wanted = report(recording, *options)["functions"]
    with view(recording) as server:
        rows = server.get("table", limit=5000, **parameters)["rows"]
    assert calls_of(rows) == calls_of(wanted)
    assert sum(row["self"] for row in rows) == pytest.approx(sum(row["self"] for row in wanted))


@pytest.mark.parametrize("options", [[], ["--only-mine"], ["--thread", "#2"]], ids=["all", "mine", "thread"])
def test_pstats_has_the_same(recording, options):
    data = subprocess.run([conftest.LEADLINE, "export", recording, "-f", "pstats", *options], check=True, capture_output=True, timeout=120).stdout
    rows, wanted = marshal.loads(data), report(recording, *options)["functions"]
    # A resumption is a call there.
    assert sum(row[1] for row in rows.values()) == sum(row["calls"] + row["resumes"] for row in wanted)
    assert sum(row[2] for row in rows.values()) == pytest.approx(sum(row["self"] for row in wanted), rel=1e-3)


@pytest.mark.parametrize("label", LABELS)
def test_what_is_excluded_changes_nobody_elses_count(label, tmp_path):
    answer = report(record(label, tmp_path, "--exclude", "json"))
    check_sums(answer)
    assert mine_of(answer["functions"]) == TRUTH
