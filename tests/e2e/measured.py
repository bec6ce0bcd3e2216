"""Tests that hold a measured value against a bar: the only ones that may be drawn again, and only for that value.

A test that asks for `draw` is measured (it gets the mark of that name). It hands over what it observed; when it has come to
its end, each bar is applied to the observations of all its draws together. If one is missed, the test raises Missed and is
drawn again, DRAWS times at most, with fresh fixtures: see docs/decisions/0040.

A failed assertion or an error fails a test, unless it passes REPEATS times in a row right after that: then it is unsteady, which is told by
name, and more than MOST_UNSTEADY of a session fail it. A crash, a time-out, what a sanitizer says and a miss in the last draw are never forgiven:
see docs/decisions/0059.

One with the mark `beside` holds its bars on a busy machine, too: it runs side by side with what measures nothing.
"""
import math
import re
import statistics
import time
from dataclasses import asdict, dataclass, field

import pytest
from _pytest.runner import runtestprotocol

DRAWS = 5
PRESSURE = "/proc/pressure/cpu"
# Of the time that the measured tests took: the share in which somebody waited for a CPU. They load two CPUs themselves.
QUIET = 0.2
# Of the measured tests; in a selection of fewer than ENOUGH, one would be too many.
MOST_REDRAWN = 0.05
ENOUGH = 100
# What a failed test must do to count as unsteady, and how many of a run may.
REPEATS = 2
MOST_UNSTEADY = 3
# Said by a failed assertion or an error; the lines of the test itself that pytest shows beside it say nothing.
NEVER_FORGIVEN = re.compile(r"Sanitizer|runtime error:|TimeoutExpired|returncode=-(4|6|7|8|11)\b|died with <Signals")
A_SIGNAL = re.compile(r"SIG(SEGV|ABRT|BUS|ILL)|Segmentation fault")


class Missed(Exception):
    """Measured values miss their bars in all draws so far together. Only the end of a test raises it."""


class Draw:
    """The observations of a test in this draw and those before. `what` names one, the same in each draw."""

    def __init__(self):
        self.number = 0  # of this draw, from 1
        self._seen = {}  # what → all that was added, in all draws
        self._held = set()  # what was held against a bar, in this draw
        self._misses = []

    def begin(self):
        self.number += 1
        self._held, self._misses = set(), []

    def add(self, what, *observations):
        """Keeps them; all observations of that name, of all draws."""
        pool = self._seen.setdefault(what, [])
        pool.extend(observations)
        return pool

    def hold(self, what, value, low=-math.inf, high=math.inf):
        """A value computed from what add() returned, between two bars. The others below are made of these two."""
        self._hold_once(what)
        if not low <= value <= high:
            self._misses.append(f"{what}: {value:.6g} is not within {low:.6g} … {high:.6g}")

    def _hold_once(self, what):
        """Two values of one name in one draw would be pooled with each other."""
        assert what not in self._held, f"two values are called {what!r}"
        self._held.add(what)

    def share(self, what, part, whole, low=0.0, high=1.0):
        """A part of a whole (samples, seconds, cases): numerators and denominators add up. Where the bars depend on the draw
        (the truth of that run, give or take), each counts as much as the whole it was for."""
        self._hold_once(what)
        pool = self.add(what, (part, whole, low * whole, high * whole))
        parts, wholes, lows, highs = map(sum, zip(*pool, strict=True))
        assert wholes > 0, f"{what}: there is nothing that this could be a share of"
        self.hold(f"{what}, of {wholes:.6g}", parts / wholes, lows / wholes, highs / wholes)

    def median(self, what, *values, low=-math.inf, high=math.inf):
        """The middle of all values of all draws. Hand over a difference or a ratio where the truth depends on the draw."""
        self._hold_once(what)
        pool = self.add(what, *values)
        self.hold(f"{what}, median of {len(pool)}", statistics.median(pool), low, high)

    def verdict(self, what, said, *right):
        """A word that was decided by measuring: what most draws say. One that is wrong needs two that are right."""
        self._hold_once(what)
        pool = self.add(what, said)
        if 2 * sum(s in right for s in pool) <= len(pool):
            self._misses.append(f"{what}: {', '.join(map(repr, pool))} instead of {' or '.join(map(repr, right))}")

    def judge(self):
        assert self._held, "a measured test that holds no value against a bar of `draw`: see tests/e2e/measured.py"
        if self._misses:
            raise Missed("; ".join(self._misses))


DRAW = pytest.StashKey[Draw]()


@pytest.fixture
def draw(request):
    return request.node.stash[DRAW]


def waited():
    """Seconds in which somebody waited for a CPU, since the machine started; None where the kernel does not tell."""
    try:
        with open(PRESSURE, encoding="ascii") as f:
            some = next(line for line in f if line.startswith("some "))
    except (OSError, StopIteration):
        return None
    return int(some.rpartition("total=")[2]) / 1e6


@dataclass
class Tally:
    """What the measured tests of a session needed."""

    tests: int = 0
    seconds: float = 0.0
    waited: float | None = 0.0  # None: not known
    redraws: list = field(default_factory=list)  # (test, its words, share of the draw with pressure or None)
    unsteady: list = field(default_factory=list)  # (test, what failed once)

    @property
    def pressure(self):
        return None if self.waited is None else self.waited / max(self.seconds, 1e-9)

    @property
    def redrawn(self):
        return {test for test, _, _ in self.redraws}

    @property
    def is_quiet(self):
        return self.pressure is not None and self.pressure < QUIET

    @property
    def are_too_many(self):
        return self.tests >= ENOUGH and len(self.redrawn) > MOST_REDRAWN * self.tests

    def merge(self, other):
        """What another process has counted, as asdict() made it."""
        self.tests += other["tests"]
        self.redraws += map(tuple, other["redraws"])
        self.unsteady += map(tuple, other["unsteady"])
        self.add(other["seconds"], other["waited"])

    def add(self, seconds, stalled):
        self.seconds += seconds
        self.waited = None if stalled is None or self.waited is None else self.waited + stalled


TALLY = pytest.StashKey[Tally]()


def pytest_configure(config):
    config.stash[TALLY] = Tally()
    config.addinivalue_line("markers", "measured: holds a measured value against a bar (set by the fixture `draw`)")
    config.addinivalue_line("markers", "kills: a program of its dies by a signal, as it should")
    config.addinivalue_line("markers", "beside: measured, and holds its bars beside other tests")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    for item in items:
        if "draw" in getattr(item, "fixturenames", ()):
            item.add_marker("measured")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    result = yield
    if DRAW in pyfuncitem.stash:
        pyfuncitem.stash[DRAW].judge()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.is_miss = call.when == "call" and call.excinfo is not None and call.excinfo.errisinstance(Missed)
    if report.is_miss:
        report.words = str(call.excinfo.value)
    return report


def drawn(item, nextitem):
    """Reports of a measured test, drawn until it holds its bars, fails for another reason, or has had its draws."""
    tally, own = item.config.stash[TALLY], item.stash[DRAW]
    while True:
        own.begin()
        began, before = time.monotonic(), waited()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        seconds, after = time.monotonic() - began, waited()
        stalled = None if before is None or after is None else after - before
        tally.add(seconds, stalled)
        failed = [r for r in reports if r.failed]
        if own.number >= DRAWS or len(failed) != 1 or not failed[0].is_miss:
            return reports
        tally.redraws.append((item.nodeid, failed[0].words, None if stalled is None else stalled / seconds))
        failed[0].outcome = "redrawn"
        item.ihook.pytest_runtest_logreport(report=failed[0])


def is_forgivable(item, reports):
    """Where a test has the mark `kills`, that a signal is named is what it is about."""
    crashes = [NEVER_FORGIVEN] if item.get_closest_marker("kills") else [NEVER_FORGIVEN, A_SIGNAL]
    return not any(r.is_miss or any(c.search(said(r)) for c in crashes) for r in reports if r.failed)


def said(report):
    """What pytest marks with an E, all of it where it marks nothing."""
    lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return "\n".join(lines) or report.longreprtext


def pytest_runtest_protocol(item, nextitem):
    """Runs a test, and one that fails again: whoever then passes each time is unsteady."""
    def run():
        if not item.get_closest_marker("measured"):
            return runtestprotocol(item, log=False, nextitem=nextitem)
        item.stash[DRAW] = Draw()
        return drawn(item, nextitem)

    tally = item.config.stash[TALLY]
    tally.tests += item.get_closest_marker("measured") is not None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = run()
    failed = [r for r in reports if r.failed]
    if failed and is_forgivable(item, reports):
        later = [run() for _ in range(REPEATS)]
        if not any(r.failed for reports in later for r in reports):
            tally.unsteady.append((item.nodeid, crash_of(failed[0])))
            failed[0].outcome = "unsteady"
            item.ihook.pytest_runtest_logreport(report=failed[0])
            reports = later[-1]
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def crash_of(report):
    """What it says, in a line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else report.longreprtext).strip().partition("\n")[0][:300]


def pytest_report_teststatus(report):
    if report.outcome == "unsteady":
        return "unsteady", "U", ("UNSTEADY", {"yellow": True})
    return ("redrawn", "R", ("REDRAWN", {"yellow": True})) if report.outcome == "redrawn" else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """A worker of xdist has ended: its tally, unless it crashed."""
    if "tally" in getattr(node, "workeroutput", ()):
        node.config.stash[TALLY].merge(node.workeroutput["tally"])


def pytest_sessionfinish(session):
    tally = session.config.stash[TALLY]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tally"] = asdict(tally)
        return  # whoever started us tells
    is_shaky = len(tally.unsteady) > MOST_UNSTEADY or (tally.are_too_many and tally.is_quiet)
    if is_shaky and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    tally, tell = config.stash[TALLY], terminalreporter
    if tally.unsteady:
        tell.section("unsteady")
        for test, words in tally.unsteady:
            tell.write_line(f"{test}: failed once, then passed {REPEATS} times: {words}")
        if len(tally.unsteady) > MOST_UNSTEADY:
            tell.write_line(f"FAILED: more than {MOST_UNSTEADY} tests are unsteady", red=True)
    if not tally.tests:
        return
    tell.section("measured values")
    for test, words, share in tally.redraws:
        tell.write_line(f"{test}: {words} (pressure {'not known' if share is None else f'{share:.0%}'})")
    pressure = f"{PRESSURE} is missing: the load is not known" if tally.pressure is None else \
        f"somebody waited for a CPU in {tally.pressure:.0%} of {tally.seconds:.0f} s"
    tell.write_line(f"{len(tally.redrawn)} of {tally.tests} measured tests were drawn again; {pressure}")
    if tally.are_too_many:
        what = f"more than {MOST_REDRAWN:.0%} were drawn again"
        if tally.is_quiet:
            tell.write_line(f"FAILED: {what} on a quiet machine (below {QUIET:.0%})", red=True)
        else:
            tell.write_line(f"{what}; that is no failure on a machine that is not known to be quiet (below {QUIET:.0%})", yellow=True)
