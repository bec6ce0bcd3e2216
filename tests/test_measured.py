"""The rules of tests/e2e/measured.py, on test files made for it: what is drawn again, what is not, and what that adds up to."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Each draw takes its values from the next of the lists; the pressure is a file of ours, one line more of it per draw.
HEAD = """
import measured, pytest
measured.PRESSURE, measured.DRAWS = PRESSURE, 3
drawn = []
"""


def outcome(tmp_path, text, *options, waits=0.0, pressure=True):
    """(exit status, counts of the last line as a dict, all lines) of a session with this test file.

    `waits`: the seconds of pressure that each test adds while it runs.
    """
    psi = tmp_path / "cpu"
    if pressure:
        psi.write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
    stall = f"""
@pytest.fixture(autouse=True)
def stall():
    yield
    path = {str(psi)!r}
    before = int(open(path).readline().rpartition("=")[2])
    open(path, "w").write(f"some avg10=0.00 avg60=0.00 avg300=0.00 total={{before + int({waits} * 1e6)}}\\n")
""" if waits else ""
    (tmp_path / "test_it.py").write_text(HEAD.replace("= PRESSURE", f"= {str(psi)!r}") + stall + text)
    # -B: a second file of the same length within the same second would be taken for the first.
    r = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "measured", "-p", "no:cacheprovider", "-q", *options, "test_it.py"],
                       cwd=tmp_path, env={"PYTHONPATH": str(ROOT / "tests" / "e2e"), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=120)
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error|errors|redrawn|unsteady|skipped|deselected)", r.stdout.splitlines()[-1])}
    return r.returncode, counts, r.stdout


def test_what_holds_is_drawn_once(tmp_path):
    status, counts, out = outcome(tmp_path, "def test_a(draw):\n    draw.median('x', 1, low=0, high=2)\ndef test_b():\n    pass\n")
    assert (status, counts) == (0, {"passed": 2})
    assert "0 of 1 measured tests were drawn again; somebody waited for a CPU in 0% of" in out


def test_a_miss_is_drawn_again_and_pooled(tmp_path):
    """40 and 60 of 100 are 50 %: the second draw alone would have missed the upper bar."""
    status, counts, out = outcome(tmp_path, """
def test_a(draw):
    drawn.append([40, 60][draw.number - 1])
    draw.share("hits", drawn[-1], 100, low=0.45, high=0.55)
def test_twice():
    assert drawn == [40, 60]
""")
    assert (status, counts) == (0, {"passed": 2, "redrawn": 1}), out
    assert "test_it.py::test_a: hits, of 100: 0.4 is not within 0.45 … 0.55 (pressure 0%)" in out
    assert "1 of 1 measured tests were drawn again" in out


def test_a_good_draw_does_not_take_the_place_of_a_bad_one(tmp_path):
    """One of three draws alone would hold the bar, all three together do not."""
    status, counts, out = outcome(tmp_path, "def test_a(draw):\n    draw.share('hits', [0, 50, 0][draw.number - 1], 100, low=0.45, high=0.55)\n")
    assert (status, counts) == (1, {"failed": 1, "redrawn": 2})
    assert "Missed: hits, of 300: 0.166667 is not within 0.45 … 0.55" in out


@pytest.mark.parametrize("wrong, said", [
    ("assert False, 'a row is missing'", "a row is missing"),
    ("raise RuntimeError('a crash')", "a crash"),
    ("import subprocess; subprocess.run(['false'], check=True)", "CalledProcessError"),
    ("import subprocess; subprocess.run(['sleep', '9'], timeout=0.1)", "TimeoutExpired"),
    ("assert False, 'measured.Missed: x: 1 is not within 2 … 3'", "AssertionError: measured.Missed"),
])
@pytest.mark.parametrize("missed", [False, True])
def test_what_is_no_measured_value_fails_at_once(tmp_path, wrong, said, missed):
    """Also beside a value that missed its bar."""
    text = f"def test_a(draw):\n    draw.median('x', {3 if missed else 1}, high=2)\n    {wrong}\n"
    status, counts, out = outcome(tmp_path, text)
    assert (status, counts) == (1, {"failed": 1}), out
    assert said in out


def test_a_crash_in_the_second_draw_fails(tmp_path):
    status, counts, _ = outcome(tmp_path, "def test_a(draw):\n    draw.median('x', 3, high=2)\n    assert draw.number < 2, 'SIGSEGV'\n")
    assert (status, counts) == (1, {"failed": 1, "redrawn": 1})


ONCE = "def test_{0}({1}):\n    {2}drawn.append('{0}')\n    assert drawn.count('{0}') {3}, '{4}'\n"


@pytest.mark.parametrize("fixture, held", [("", ""), ("draw", "draw.median('x', 1, high=2); ")])
def test_what_fails_once_is_told(tmp_path, fixture, held):
    status, counts, out = outcome(tmp_path, ONCE.format("a", fixture, held, "> 1", "a row is missing"))
    assert (status, counts) == (0, {"passed": 1, "unsteady": 1}), out
    assert "test_it.py::test_a: failed once, then passed 2 times" in out and "a row is missing" in out
    status, counts, _ = outcome(tmp_path, ONCE.format("a", fixture, held, "== 2", "a row is missing"))
    assert (status, counts) == (1, {"failed": 1}), "it passed once, and failed again"


@pytest.mark.parametrize("said", ["AddressSanitizer: heap-use-after-free", "a.c:3:4: runtime error: shift", "CompletedProcess(args=[], returncode=-11)",
                                  "subprocess.TimeoutExpired", "died with <Signals.SIGABRT: 6>"])
def test_a_crash_is_never_forgiven(tmp_path, said):
    status, counts, _ = outcome(tmp_path, ONCE.format("a", "", "", "> 1", said))
    assert (status, counts) == (1, {"failed": 1})


@pytest.mark.parametrize("mark, is_told", [("", False), ("@pytest.mark.kills\n", True)])
def test_a_signal_is_forgiven_where_the_test_is_about_it(tmp_path, mark, is_told):
    status, counts, out = outcome(tmp_path, mark + ONCE.format("a", "", "", "> 1", "killed by signal 11 (SIGSEGV)"))
    assert (status, counts) == ((0, {"passed": 1, "unsteady": 1}) if is_told else (1, {"failed": 1})), out
    status, counts, out = outcome(tmp_path, mark + ONCE.format("a", "", "", "> 1", "returncode=-11"))
    assert (status, counts) == (1, {"failed": 1}), "the tool itself died"


def test_the_lines_of_a_test_say_nothing(tmp_path):
    """What a test sends is no crash of what it looks at."""
    status, counts, out = outcome(tmp_path, "def test_a():\n    sent = 'SIGSEGV'\n    drawn.append(1)\n    assert len(drawn) > 1\n")
    assert (status, counts) == (0, {"passed": 1, "unsteady": 1}), out


@pytest.mark.parametrize("options", [(), ("-n", "2", "--dist", "load")])
def test_many_that_are_unsteady_fail(tmp_path, options):
    for n in (3, 4):
        status, counts, out = outcome(tmp_path, "".join(ONCE.format(c, "", "", "> 1", "x") for c in "abcd"[:n]), *options)
        assert (status, counts) == (int(n > 3), {"passed": n, "unsteady": n}), out
        assert ("FAILED: more than 3 tests are unsteady" in out) == (n > 3)


@pytest.mark.parametrize("where", ["raise OSError('set-up')\n    yield", "yield\n    raise OSError('tear-down')"])
def test_a_fixture_that_fails_is_not_repeated(tmp_path, where):
    text = f"@pytest.fixture\ndef thing():\n    {where}\ndef test_a(thing, draw):\n    draw.median('x', 3, high=2)\n"
    status, counts, out = outcome(tmp_path, text)
    assert status == 1 and "redrawn" not in counts, out


def test_without_the_fixture_there_is_one_try_and_no_mark(tmp_path):
    text = "def test_a():\n    raise measured.Missed('x')\ndef test_b(draw):\n    draw.median('x', 1, high=2)\n"
    status, counts, _ = outcome(tmp_path, text)
    assert (status, counts) == (1, {"passed": 1, "failed": 1})
    status, counts, _ = outcome(tmp_path, text, "-m", "measured")
    assert (status, counts) == (0, {"passed": 1, "deselected": 1})


def test_fixtures_are_remade_for_each_draw(tmp_path):
    status, _, out = outcome(tmp_path, """
@pytest.fixture
def folder(tmp_path):
    drawn.append("made")
    yield tmp_path
    drawn.append("gone")
def test_a(draw, folder):
    assert not list(folder.iterdir())
    (folder / "x").write_text("")
    draw.median("x", draw.number, low=1.5)
def test_b():
    assert drawn == ["made", "gone"] * 2
""")
    assert status == 0, out


def test_who_holds_nothing_fails(tmp_path):
    status, counts, out = outcome(tmp_path, "def test_a(draw):\n    pass\n")
    assert (status, counts) == (1, {"failed": 1}) and "holds no value against a bar of `draw`" in out


def test_two_values_of_one_name_are_a_mistake(tmp_path):
    status, counts, out = outcome(tmp_path, "def test_a(draw):\n    draw.verdict('x', 'cpu', 'cpu')\n    draw.median('x', 1, high=2)\n")
    assert (status, counts) == (1, {"failed": 1}) and "two values are called 'x'" in out


@pytest.mark.parametrize("draws, held", [
    (["draw.median('x', 9, high=2)", "draw.median('x', 1, high=2)", "draw.median('x', 1, high=2)"], True),
    (["draw.median('x', 9, high=2)", "draw.median('x', 1, high=2)", "draw.median('x', 9, high=2)"], False),
    (["draw.verdict('x', 'io', 'cpu')", "draw.verdict('x', 'cpu', 'cpu')", "draw.verdict('x', 'cpu', 'cpu')"], True),
    (["draw.verdict('x', 'io', 'cpu')", "draw.verdict('x', 'cpu', 'cpu')", "draw.verdict('x', 'io', 'cpu')"], False),
    (["draw.hold('x', min(draw.add('x', 5, 4)), high=3)", "draw.hold('x', min(draw.add('x', 5, 3)), high=3)"], True),
    # Bars of their own: 2 of 10 where 1 is true, 2 of 30 where 3 are: 0.1 of 40, and 0.1 is the truth.
    (["draw.share('x', 2, 10, low=0.05, high=0.15)", "draw.share('x', 2, 30, low=0.05, high=0.15)"], True),
    (["draw.share('x', 2, 10, low=0.3, high=0.4)", "draw.share('x', 8, 10, low=0.6, high=0.7)"], True),
])
def test_how_draws_are_pooled(tmp_path, draws, held):
    text = "def test_a(draw):\n    [" + ", ".join(f"lambda: {d}" for d in draws) + "][draw.number - 1]()\n"
    status, counts, out = outcome(tmp_path, text)
    assert (status == 0) == held and counts["redrawn"] == len(draws) - 1, out


MANY = "@pytest.mark.parametrize('i', range(100))\ndef test_a(draw, i):\n    draw.median('x', draw.number, low=1 + (i < {}) / 2)\n"


def test_more_than_one_in_twenty_drawn_again_fails_a_quiet_run(tmp_path):
    status, counts, out = outcome(tmp_path, MANY.format(5))
    assert (status, counts) == (0, {"passed": 100, "redrawn": 5}), out
    status, counts, out = outcome(tmp_path, MANY.format(6))
    assert (status, counts) == (1, {"passed": 100, "redrawn": 6})
    assert "FAILED: more than 5% were drawn again on a quiet machine" in out


def test_beside_a_load_it_is_only_told(tmp_path):
    status, _, out = outcome(tmp_path, MANY.format(6), waits=1)
    assert status == 0 and "more than 5% were drawn again; that is no failure on a machine that is not known to be quiet" in out


def test_where_the_kernel_tells_no_pressure_that_is_said(tmp_path):
    status, _, out = outcome(tmp_path, MANY.format(6), pressure=False)
    assert status == 0 and "is missing: the load is not known" in out and "(pressure not known)" in out


def test_workers_count_together(tmp_path):
    text = "def test_{0}(draw):\n    draw.median('x', draw.number, low={1})\n"
    status, counts, out = outcome(tmp_path, "".join(text.format(name, low) for name, low in (("a", 1), ("b", 1.5), ("c", 2))), "-n", "2", "--dist", "load")
    assert (status, counts) == (0, {"passed": 3, "redrawn": 3}), out
    assert "test_it.py::test_b: x, median of 1: 1 is not within 1.5 … inf" in out
    assert "2 of 3 measured tests were drawn again; somebody waited for a CPU in 0% of" in out
