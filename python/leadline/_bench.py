"""Timing in this process: leadline.timeit(f), leadline.bench(f), leadline.Timer; fresh processes and comparisons are `leadline bench` and `compare`."""

import statistics
import time
import timeit as _timeit
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

Code = Union[str, Callable[[], Any]]


def shown(value: float, precision: int = 3) -> str:
    """As %timeit writes a time."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.{precision}g} {unit}"
    return f"{value * 1e9:.{precision}g} ns"


class Result:
    """What was measured, with the names of %timeit -o: times are seconds of one loop, `all_runs` those of whole batches."""

    def __init__(self, loops: int, all_runs: List[float], compile_time: float = 0.0, precision: int = 3) -> None:
        self.loops, self.repeat, self.all_runs = loops, len(all_runs), all_runs
        self.compile_time, self._precision = compile_time, precision
        self.timings = [run / loops for run in all_runs]
        self.best, self.worst = min(self.timings), max(self.timings)

    @property
    def average(self) -> float:
        return statistics.fmean(self.timings)

    @property
    def stdev(self) -> float:
        return statistics.pstdev(self.timings)

    @property
    def median(self) -> float:
        return statistics.median(self.timings)

    def __str__(self) -> str:
        return (f"{shown(self.average, self._precision)} ± {shown(self.stdev, self._precision)} per loop (mean ± std. dev. of "
                f"{self.repeat} run{'s' if self.repeat != 1 else ''}, {self.loops:,} loop{'s' if self.loops != 1 else ''} each)")

    def __repr__(self) -> str:
        return f"<leadline.Result: {self}>"


def median_rank(n: int) -> Optional[int]:
    """How many values from either end the 95 % interval of the median of n values lies, whatever their distribution; None: n are too few."""
    ways, tail, best = 1, 1, None  # of 2**n ways to lie on either side of the median
    for rank in range((n + 1) // 2):
        if 40 * tail > 2**n:
            break
        best = rank
        ways = ways * (n - rank) // (rank + 1)
        tail += ways
    return best


class Timing(Result):
    """A Result that is a number, too: float() of it is the median of one loop in seconds. It shows as one line with the median's 95 % interval."""

    @property
    def interval(self) -> Optional[Tuple[float, float]]:
        """Of the median, in seconds; None: fewer than six batches cannot tell."""
        rank = median_rank(self.repeat)
        ordered = sorted(self.timings)
        return None if rank is None else (ordered[rank], ordered[-1 - rank])

    def __float__(self) -> float:
        return self.median

    def __str__(self) -> str:
        known = self.interval
        range_ = f", 95 % interval {shown(known[0], self._precision)} … {shown(known[1], self._precision)}" if known else ""
        batches = f"{self.repeat} batch{'es' if self.repeat != 1 else ''} of {self.loops:,} loop{'s' if self.loops != 1 else ''}"
        too_few = "" if known else "; an interval takes at least 6"
        return f"{shown(self.median, self._precision)} per loop{range_} (median of {batches}{too_few})"

    def __repr__(self) -> str:
        return str(self)


class Timer(_timeit.Timer):
    """timeit.Timer, with bench()."""

    def bench(self, number: int = 0, repeat: int = 7) -> Result:
        """`repeat` batches of `number` loops; 0: as many as take 0.2 s."""
        if repeat < 1:
            raise ValueError("repeat must be at least 1")
        loops = number or self.autorange()[0]
        if not number and loops == 1:  # perhaps only the first call takes that long
            loops = self.autorange()[0]
        return Result(loops, self.repeat(repeat, loops))


def bench(what: Code, setup: Code = "pass", number: int = 0, repeat: int = 7, globals: Optional[Dict[str, Any]] = None,
          timer: Callable[[], float] = time.perf_counter) -> Result:
    """Times a statement or a function without arguments in this process, garbage collection off, as timeit does."""
    return Timer(what, setup, timer, globals).bench(number, repeat)


def timeit(stmt: Code = "pass", setup: Code = "pass", timer: Callable[[], float] = time.perf_counter, number: int = 0,
           globals: Optional[Dict[str, Any]] = None, *, repeat: int = 7) -> Timing:
    """timeit.timeit and timeit.repeat in one: `repeat` batches of `number` loops (0: as many as take 0.2 s), as leadline.bench measures."""
    result = Timer(stmt, setup, timer, globals).bench(number, repeat)
    return Timing(result.loops, result.all_runs)
