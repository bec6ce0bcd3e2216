"""The bars of tests/e2e/edges.py can be missed: books that balance hold them, and each way to be wrong misses one by name."""
import copy

import edges
import pytest

TRUTH = {"functions": {"work": {"cpu_s": 0.9, "wall_s": 1.2, "calls": 1}}, "threads": 3, "processes": 2, "wall_s": 3.0, "cpu_s": 2.0, "cpu_before_s": 0.1,
         "ending": {"wall_s": 1.0, "cpu_s": 1.0}}
BOOKS = {"cpu": {"kernel_s": 2.02, "sampled_s": 1.9, "late_s": 0.0, "without_python_s": 0.1, "not_seen_s": 0.02},
         "wall": {"threads_s": 6.0, "sampled_s": 4.7, "no_python_s": 0.1, "starting_s": 0.1, "ending_s": 1.0, "stopped_s": 0.0, "late_s": 0.1},
         "threads_not_seen": 0, "evidence": "events"}
EDGE = edges.Edge("ending", cpu=("work",), wall=("work",))


def report(books, seconds, low, high):
    row = {"name": "work", "file": "/somewhere/ending.py", "total": seconds, "total_low": low, "total_high": high}
    return {"books": books, "functions": [row, {**row, "file": "/lib/other.py"}]}


def recorded(books=BOOKS, cpu=(0.89, 0.8, 1.0), wall=(1.19, 1.1, 1.3), edge=EDGE, way="root", stopped_s=0.0):
    return edges.Recorded(edge, way, TRUTH, report(books, *cpu), report(books, *wall), "", stopped_s)


def missed(run):
    return [found.what for found in (*edges.cells(run), *edges.bars(run)) if not found.is_held]


def test_books_that_balance_hold_every_bar():
    assert missed(recorded()) == []


@pytest.mark.parametrize("book, changes, what", [
    ("cpu", {"kernel_s": 1.5, "sampled_s": 1.38}, "kernel clock, s"),
    ("cpu", {"sampled_s": 1.8}, "sum of CPU / kernel clock"),
    ("wall", {"sampled_s": 4.6}, "sum of wall / threads"),
    ("cpu", {"sampled_s": 1.82, "not_seen_s": 0.1}, "not seen / CPU"),
    ("cpu", {"sampled_s": 2.02, "not_seen_s": -0.1}, "not seen / CPU"),
    ("wall", {"sampled_s": 4.8, "stopped_s": -0.1}, "least row of wall, s"),
    ("cpu", {"sampled_s": 2.01, "without_python_s": -0.01}, "least row of CPU, s"),
    ("wall", {"sampled_s": 4.4, "late_s": 0.4}, "late / threads"),
    ("cpu", {"sampled_s": 1.7, "late_s": 0.2}, "late / CPU"),
    ("wall", {"sampled_s": 5.6, "ending_s": 0.1}, "interpreter ending, s"),
])
def test_a_book_that_is_wrong_misses_its_bar(book, changes, what):
    books = copy.deepcopy(BOOKS)
    books[book].update(changes)
    assert missed(recorded(books)) == [what]


def test_more_may_be_missing_where_less_tells_of_threads():
    books = copy.deepcopy(BOOKS)
    books["cpu"].update(sampled_s=1.83, not_seen_s=0.09)
    assert missed(recorded(books)) == ["not seen / CPU"]
    books["evidence"] = "ids"
    assert missed(recorded(books)) == []


def test_threads_not_seen_are_no_more_than_there_were():
    books = {**BOOKS, "threads_not_seen": 4}
    assert missed(recorded(books)) == ["threads not seen"]


def test_threads_not_seen_are_unknown_by_the_clock_alone():
    books = {**BOOKS, "threads_not_seen": None}
    assert missed(recorded(books)) == ["threads not seen: processes that cannot tell"]
    assert missed(recorded({**books, "evidence": "clock"})) == []


def test_an_attached_tool_knows_nothing_of_what_was_before():
    assert missed(recorded(way="attach")) == ["kernel clock, s"]  # which has all of it


@pytest.mark.parametrize("cpu, wall, what", [
    ((0.7, 0.65, 0.75), (1.19, 1.1, 1.3), ["work cpu"]),
    ((1.2, 1.1, 1.3), (1.19, 1.1, 1.3), ["work cpu"]),
    ((0.89, 0.8, 1.0), (2.2, 2.1, 2.3), ["work wall"]),
    ((0.3, 0.0, 2.0), (1.19, 1.1, 1.3), ["work cpu"]),  # an interval that holds everything is not one
])
def test_a_function_that_is_wrong_is_told(cpu, wall, what):
    assert missed(recorded(cpu=cpu, wall=wall)) == what


@pytest.mark.parametrize("stops, row", [("program", "stopped_s"), ("both", "late_s")])
def test_the_time_of_a_stop_is_told_for_each_thread(stops, row):
    edge = edges.Edge("ending", cpu=("work",), stops=stops)
    books = copy.deepcopy(BOOKS)
    books["wall"].update({"sampled_s": 2.7 if row == "stopped_s" else 2.8, row: 2.0})
    assert missed(recorded(books, edge=edge, stopped_s=1.0)) == []
    assert len(missed(recorded(edge=edge, stopped_s=1.0))) == 1
