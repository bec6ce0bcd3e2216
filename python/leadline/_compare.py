"""leadline.compare(f, g): whether g is faster than f, timed in this process and judged by the tool, with the rules of `leadline compare`.

What differs from the command: f and g share one process, so memory layout and hash seed are the same in all blocks. A difference
of a few percent that depends on those is only seen by the command, which takes fresh processes.
"""

import html
import json
import random
import subprocess
import time as clock
import timeit
from typing import Any, Callable, Dict, List, Optional, Tuple

from leadline._bench import Code
from leadline._binary import find_binary
from leadline._host import Error

BATCH_S, SIDE_S, BATCHES = 0.01, 0.1, 3  # short blocks: what disturbs the machine shall disturb all sides of one
FIRST_LOOK, MOST_BLOCKS = 10, 1000
NO_TIME = "they are too short for this clock to measure; compare more at once"


class Comparison:
    """What came out. verdict: "faster", "slower", "equivalent" or "undecided" (then `reason`); ratio: B's time / A's, with its 95 % interval."""

    def __init__(self, document: Dict[str, Any], text: str) -> None:
        self.json, self.text = document, text
        self.verdict: str = document["verdict"]
        self.reason: Optional[str] = document["reason"]
        self.ratio: float = document["ratio"]
        self.interval: Tuple[float, float] = (document["low"], float("inf") if document["high"] is None else document["high"])
        self.blocks: int = document["blocks"]
        self.b_wins: int = document["b_wins"]
        self.control: Optional[Dict[str, float]] = document["control"]
        self.detectable: Optional[float] = document["detectable_share"]
        self.more_blocks: Optional[int] = document["more_blocks"]
        self.times: List[List[Optional[float]]] = document["times"]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<leadline.Comparison: {self.text.partition(chr(10))[0]}>"

    def _repr_html_(self) -> str:
        head, _, rest = self.text.partition("\n")
        return f"<p><b>{html.escape(head)}</b></p><pre>{html.escape(rest)}</pre>"


class _Side:
    """A or B: how long one loop takes, as the least of some batches."""

    def __init__(self, what: Code, setup: Code, timer: Callable[[], float], names: Optional[Dict[str, Any]]) -> None:
        self.name: str = what if isinstance(what, str) else getattr(what, "__qualname__", repr(what))
        self._timer = timeit.Timer(what, setup, timer, names)
        self.loops, self.loop_s = 1, 0.0
        self._timer.timeit(1)  # a first call may be slow for reasons of its own
        start = clock.perf_counter()
        while True:
            seconds = self._timer.timeit(self.loops)
            self.loop_s = seconds / self.loops
            if seconds >= BATCH_S or clock.perf_counter() - start > 0.1:  # a clock of the user's own may stand still
                break
            self.loops *= 10 if seconds < BATCH_S / 10 else 2
        if seconds <= 0:
            raise Error(NO_TIME)

    def seconds(self) -> float:
        start, least = clock.perf_counter(), float("inf")
        for _ in range(BATCHES):
            least = min(least, self._timer.timeit(self.loops) / self.loops)
            if clock.perf_counter() - start > SIDE_S:
                break
        return least


def compare(a: Code, b: Code, setup: Code = "pass", *, time: float = 10.0, blocks: int = 0, equivalence: float = 0.01, control: bool = True,
            globals: Optional[Dict[str, Any]] = None, timer: Callable[[], float] = clock.perf_counter) -> Comparison:
    """Decides between two functions without arguments, or two statements. Stops when it is clear, after `time` seconds, or after exactly `blocks`.

    equivalence: differences that do not matter (0.01: 1 %). control: A runs against itself, too; where it differs, the verdict is undecided.
    """
    sides = _Side(a, setup, timer, globals), _Side(b, setup, timer, globals)
    slow, fast = sorted((side.loop_s for side in sides), reverse=True)
    if slow < 2 * fast:  # as many loops for both: a longer batch is disturbed more often
        sides[0].loops = sides[1].loops = max(side.loops for side in sides)
    start, order, draw = clock.perf_counter(), [0, 1, 2] if control else [0, 1], random.Random()
    document: Dict[str, Any] = {"a": sides[0].name, "b": sides[1].name, "times": [], "b_first": []}
    next_look = FIRST_LOOK
    while len(document["times"]) < (blocks or MOST_BLOCKS):
        draw.shuffle(order)
        seconds: List[Optional[float]] = [None, None, None]
        for side in order:
            seconds[side] = sides[side % 2].seconds()
        if not all(seconds[side] for side in order):
            raise Error(NO_TIME)
        document["times"].append(seconds)
        document["b_first"].append(order.index(1) < order.index(0))
        if blocks:
            continue
        if len(document["times"]) == next_look:
            answer = json.loads(_judge(document, equivalence, "--json"))
            next_look = answer["next_look"]
            if answer["final"]:
                break
        if clock.perf_counter() - start >= time:
            break
    answer = json.loads(_judge(document, equivalence, "--json"))
    answer["elapsed_s"] = clock.perf_counter() - start
    return Comparison(answer, _judge(document, equivalence))


def _judge(document: Dict[str, Any], equivalence: float, *options: str) -> str:
    command = [find_binary(), "compare", "--judge", "-", "--equivalence", repr(100 * equivalence), "--color=never", *options]
    done = subprocess.run(command, input=json.dumps(document), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode:
        raise Error(done.stderr.strip().partition("\n")[0] or f"leadline compare exited with status {done.returncode}")
    return done.stdout
