"""leadline stats against `python -m pstats`: the same commands give the same text, to the column."""
import subprocess

import conftest
import pytest
from interpreters import require
from screen import Terminal

CALLS = conftest.ROOT / "tests" / "targets" / "calls.py"

SESSIONS = {
    "all": "stats\n",
    "sorted": "sort cumtime\nstats 10\nsort tottime\nstats .1\n",
    "keys": "sort nfl\nstats 6\nsort stdname\nstats 5\nsort module line\nstats 7\nsort pcalls\nstats 4\nsort cumulative name\nstats\n",
    "strip": "strip\nsort calls name\nstats 8\ncallers fib\ncallees main\n",
    "reverse": "sort calls name\nreverse\nstats 5\nstats json 3\nstats x( 2\n",
    "help": "help\nhelp stats\n?sort\nhelp nope\nfoo bar\nsort\nsort n\n\n",
    "add": "add {file}\nsort ncalls name\nstats 4\nread\nstats 2\n",
    "numbers": "stats 1.5\nstats 1.0 2\ncallers 3\ncallees .02\nstats 0\nquit\nstats\n",
    "neighbours": "sort name line\ncallers\ncallees\nEOF\n",
}


@pytest.fixture(scope="module")
def prof(tmp_path_factory):
    path = tmp_path_factory.mktemp("stats") / "calls.prof"
    subprocess.run(require("3.13").command("-m", "cProfile", "-o", str(path), str(CALLS)), check=True, capture_output=True)
    return path


@pytest.mark.parametrize("name", SESSIONS)
def test_the_text_is_that_of_pstats(tool, prof, name):
    typed = SESSIONS[name].format(file=prof)
    theirs = subprocess.run(require("3.13").command("-m", "pstats", str(prof)), input=typed, capture_output=True, text=True)
    ours = tool("stats", prof, input=typed)
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout.replace("help  lines  quit", "help  quit") == theirs.stdout  # which has no lines


def test_commands_given_as_options_are_done_without_asking(tool, prof):
    ours = tool("stats", prof, prof, "-c", "sort ncalls", "-c", "stats 3")
    assert ours.returncode == 0
    assert "Ordered by: call count" in ours.stdout and "List reduced from" in ours.stdout
    assert "Welcome" not in ours.stdout and "%" not in ours.stdout
    assert ours.stdout.count(str(prof)) == 2  # both files are named


def test_on_a_terminal_lines_are_edited_completed_and_come_again(prof):
    with Terminal([conftest.LEADLINE, "stats", prof.name], rows=30, columns=100, cwd=prof.parent) as t:
        t.wait_for("Welcome to the profile statistics browser.", "calls.prof%")
        t.keys("so\tcumt\t\r")  # "sort cumtime"
        t.wait_for("calls.prof% sort cumtime")
        t.keys("stats 99\x7f\x7f1\r")
        t.wait_for("Ordered by: cumulative time", "due to restriction <1>")
        t.keys("\x0c")
        t.wait_gone("Ordered by")
        t.keys("\x1b[A\x1b[A\x1b[A\x1b[B\r")  # up to the first, and down to the second
        t.wait_for("calls.prof% stats 1", "due to restriction <1>")
        t.keys("ca\t\t")
        t.wait_for("callees callers")
        t.keys("\x03")
        t.wait_for("^C")
        t.keys("\x04")
        assert t.wait_exit() == 0
        assert "Goodbye." in t.text()


def test_what_cannot_be_asked_is_said_in_one_line(tool, tmp_path):
    (tmp_path / "x.prof").write_bytes(b"{)\x03z\x04f.pyi\x01\0\0\0z\x01g")
    missing = tool("stats", tmp_path / "no.prof")
    assert missing.returncode == 5 and "no.prof" in missing.stderr
    cut = tool("stats", tmp_path / "x.prof")
    assert cut.returncode == 6 and "ends in the middle" in cut.stderr and len(cut.stderr.splitlines()) <= 2
    sampled = tool("stats", conftest.ROOT / "tests" / "data" / "busy.lead")
    assert sampled.returncode == 2 and "leadline run --trace" in sampled.stderr
    empty = tool("stats", "-c", "stats", "-c", "add x", "-c", "read")
    assert empty.stdout == ("No statistics object is loaded.\n" * 2 + "No statistics object is current -- cannot reload.\n")
