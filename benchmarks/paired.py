"""How much slower a program is under a tool, on a machine whose speed drifts: pairs close together in time.

A tool that never stops the program can itself be stopped and let go on (SIGSTOP, SIGCONT) while the program runs on: Gate
makes windows of 60 ms, on off off on, and compares neighbours in one and the same process. A tool that stops the program
might stop it for good in this way; for those, `runs` compares whole runs in the order A B B A. A control, the same
arithmetic with no tool at all, shows how much of a figure is noise.
"""
import bisect
import os
import random
import signal
import statistics
import time
from dataclasses import dataclass

WINDOW_S = 0.06  # short: what else goes on in a machine comes in spells of seconds, and a pair lies within one
GUARD_S = 0.012  # after each switch: the tool's catching up belongs to neither side


@dataclass(frozen=True)
class Slowdown:
    """Share of the program's speed that is lost: median of the pairs with its 95 % interval by bootstrap, and mean.

    The mean counts bad spells, such as the tool on the program's own CPU, and the machine's noise too.
    """

    mean: float
    median: float
    low: float
    high: float
    pairs: int

    def __str__(self):
        return f"{self.median:.1%} [{self.low:.1%}, {self.high:.1%}], mean {self.mean:.1%}"


def from_ratios(ratios):
    """ratios: speed with the tool / speed without, one per pair."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(2000))
    return Slowdown(1 - statistics.mean(ratios), 1 - statistics.median(ratios), 1 - medians[1949], 1 - medians[50], len(ratios))


def units_at(marks, times, t):
    """Units done at time t, between two marks in proportion."""
    i = min(max(bisect.bisect_right(times, t), 1), len(marks) - 1)
    (t0, n0), (t1, n1) = marks[i - 1], marks[i]
    return n0 + (n1 - n0) * (t - t0) / (t1 - t0)


def speed(marks, begin, end):
    times = [t for t, _ in marks]
    return (units_at(marks, times, end) - units_at(marks, times, begin)) / (end - begin)


class Gate:
    """Stops processes and lets them go on, window by window; call step() often.

    Two thirds of the pairs compare the tool with nothing, one third a loop that does nothing but keep a CPU busy: what it
    costs to have company on this machine at this time (CPUs that are one core's, a scheduler that puts both on one).
    """

    CYCLE = ("tool", "none", "none", "tool", "tool", "none", "none", "tool", "loop", "none", "none", "loop")

    def __init__(self, settle_s, **pids):
        """pids: of "tool" and "loop", where there is one; the tool is to run now and the loop to be stopped."""
        self.pids = pids
        self.running = "tool"
        self.next = time.monotonic() + settle_s
        self.windows = []  # (begin, who runs)

    def step(self):
        """Switches when it is time to; returns how long there is nothing to do."""
        now = time.monotonic()
        if now >= self.next:
            self.let_run(self.CYCLE[len(self.windows) % len(self.CYCLE)])
            self.windows.append((time.monotonic(), self.running))
            self.next = now + WINDOW_S
        return max(self.next - time.monotonic(), 0)

    def let_run(self, who):
        if who != self.running:
            self.send(self.running, signal.SIGSTOP)
            self.send(who, signal.SIGCONT)
            self.running = who

    def send(self, who, number):
        if self.pids.get(who):
            os.kill(self.pids[who], number)

    def slowdown(self, marks, who="tool"):
        """Of the pairs of neighbours, one of them with nothing, that lie inside the program's own time; None: too few."""
        spans = [(begin + GUARD_S, end, running) for (begin, running), (end, _) in zip(self.windows, self.windows[1:])]
        ratios = []
        for pair in zip(spans[::2], spans[1::2]):
            if pair[0][0] < marks[0][0] or pair[1][1] > marks[-1][0] or who not in (pair[0][2], pair[1][2]):
                continue
            on, off = sorted(pair, key=lambda span: span[2] == "none")
            ratios.append(speed(marks, on[0], on[1]) / speed(marks, off[0], off[1]))
        return from_ratios(ratios) if len(ratios) > 2 else None


def runs(base, tool, pairs):
    """base, tool: functions that run the program once and return its speed."""
    ratios = []
    for i in range(pairs):
        order = (base, tool) if i % 2 == 0 else (tool, base)
        speeds = {f: f() for f in order}
        ratios.append(speeds[tool] / speeds[base])
    return from_ratios(ratios)
