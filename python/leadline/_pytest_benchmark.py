"""The `benchmark` fixture: times one function in rounds of as many calls as the clock needs, within pytest's process."""

import gc
import math
import os
import re
import statistics
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import pytest

from leadline._pytest_session import Session

Arguments = Tuple[Sequence[Any], Dict[str, Any]]
MARKS = ("calibration_precision", "cprofile", "disable_gc", "group", "max_time", "min_rounds", "min_time", "timer", "warmup", "warmup_iterations")
MOST_LOOPS = 10**9
SESSION = "leadline-benchmarks"


class FixtureAlreadyUsed(Exception):
    """One test, one benchmark: its results carry the test's name."""


class UnusedBenchmark(pytest.PytestWarning):
    """A test has the fixture and calls nothing with it."""


class Stats:
    """Statistics of the rounds, in seconds of one call; the names are those of the JSON."""

    fields = ("min", "max", "mean", "stddev", "rounds", "median", "iqr", "q1", "q3", "iqr_outliers", "stddev_outliers",
              "outliers", "ld15iqr", "hd15iqr", "ops", "total")

    def __init__(self) -> None:
        self.data: List[float] = []
        self._sorted: List[float] = []

    def __bool__(self) -> bool:
        return bool(self.data)

    def as_dict(self) -> Dict[str, Any]:
        return {field: getattr(self, field) for field in self.fields}

    @property
    def sorted_data(self) -> List[float]:
        if len(self._sorted) != len(self.data):
            self._sorted = sorted(self.data)
        return self._sorted

    def _quantile(self, share: float) -> float:
        """Between the two values around n · share − ½, as pytest-benchmark's quartiles are."""
        values = self.sorted_data
        at = min(max(len(values) * share - 0.5, 0), len(values) - 1)
        below = int(at)
        above = min(below + 1, len(values) - 1)
        return values[below] + (at - below) * (values[above] - values[below])

    @property
    def min(self) -> float:
        return self.sorted_data[0]

    @property
    def max(self) -> float:
        return self.sorted_data[-1]

    @property
    def total(self) -> float:
        return math.fsum(self.data)

    @property
    def mean(self) -> float:
        return self.total / len(self.data)

    @property
    def stddev(self) -> float:
        mean = self.mean
        return math.sqrt(math.fsum((v - mean) ** 2 for v in self.data) / (len(self.data) - 1)) if len(self.data) > 1 else 0.0

    @property
    def rounds(self) -> int:
        return len(self.data)

    @property
    def median(self) -> float:
        return statistics.median(self.sorted_data)

    @property
    def q1(self) -> float:
        return self._quantile(0.25)

    @property
    def q3(self) -> float:
        return self._quantile(0.75)

    @property
    def iqr(self) -> float:
        return self.q3 - self.q1

    def _inside(self) -> List[float]:
        low, high = self.q1 - 1.5 * self.iqr, self.q3 + 1.5 * self.iqr
        return [v for v in self.sorted_data if low <= v <= high]

    @property
    def ld15iqr(self) -> float:
        return self._inside()[0]

    @property
    def hd15iqr(self) -> float:
        return self._inside()[-1]

    @property
    def iqr_outliers(self) -> int:
        return len(self.data) - len(self._inside())

    @property
    def stddev_outliers(self) -> int:
        mean, reach = self.mean, self.stddev
        return sum(abs(v - mean) > reach for v in self.data)

    @property
    def outliers(self) -> str:
        return f"{self.stddev_outliers};{self.iqr_outliers}"

    @property
    def ops(self) -> float:
        return self.rounds / self.total if self.total else 0.0


class Benchmarked:
    """A benchmark that was run: what `benchmark.stats` is, and what is kept. benchmark.stats["median"], .stats.median"""

    def __init__(self, fixture: "Benchmark", iterations: int) -> None:
        self.fixture, self.iterations, self.stats = fixture, iterations, Stats()
        self.name, self.fullname, self.param, self.params = fixture.name, fixture.fullname, fixture.param, fixture.params
        timer = fixture.settings["timer"]
        self.options = {"disable_gc": fixture.settings["disable_gc"], "timer": getattr(timer, "__name__", repr(timer)),
                        "min_rounds": fixture.settings["min_rounds"], "max_time": fixture.settings["max_time"],
                        "min_time": fixture.settings["min_time"],
                        "warmup": fixture.settings["warmup"] and fixture.settings["warmup_iterations"]}

    def __bool__(self) -> bool:
        return bool(self.stats)

    @property
    def group(self) -> Optional[str]:
        return self.fixture.group

    @property
    def extra_info(self) -> Dict[str, Any]:
        return self.fixture.extra_info

    @property
    def has_error(self) -> bool:
        return self.fixture.has_error

    def __getitem__(self, key: str) -> Any:
        return getattr(self.stats if key in Stats.fields or key == "data" else self, key)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except AttributeError:
            return default

    def update(self, duration: float) -> None:
        """One round: seconds of all its calls."""
        self.stats.data.append(duration / self.iterations)

    def as_dict(self, include_data: bool = True, flat: bool = False, stats: bool = True) -> Dict[str, Any]:
        result = {"group": self.group, "name": self.name, "fullname": self.fullname, "params": self.params, "param": self.param,
                  "extra_info": self.extra_info, "options": self.options}
        if stats:
            figures = self.stats.as_dict()
            if include_data:
                figures["data"] = self.stats.data
            figures["iterations"] = self.iterations
            result.update(figures if flat else {"stats": figures})
        return result


_ticks: Dict[Any, float] = {}


def tick_of(timer: Callable[[], float]) -> float:
    """The smallest step the clock was seen to make: of 5 at least, for 20 ms; for clocks that stand still half a second."""
    if timer not in _ticks:
        least, seen, start = math.inf, 0, time.perf_counter()
        while time.perf_counter() - start < (0.02 if seen >= 5 else 0.5):
            before = timer()
            step = timer() - before
            if step > 0:
                least, seen = min(least, step), seen + 1
        _ticks[timer] = least if seen else 0.0
    return _ticks[timer]


class Benchmark:
    """Called with a function and its arguments: times it and returns what it returned."""

    def __init__(self, session: Session, node: Any, settings: Dict[str, Any]) -> None:
        self._session = session
        self.name: str = node.name
        self.fullname: str = node.nodeid
        spec = getattr(node, "callspec", None)
        self.param: Optional[str] = spec.id if spec else None
        self.params: Optional[Dict[str, Any]] = spec.params if spec else None
        self.group: Optional[str] = settings.get("group")
        self.extra_info: Dict[str, Any] = {}
        self.settings = settings
        self.disabled = session.disabled
        self.has_error = False
        self.skipped = False
        self.stats: Optional[Benchmarked] = None
        self.mode = ""

    @property
    def enabled(self) -> bool:
        return not self.disabled

    def __call__(self, function_to_benchmark: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._begin("benchmark(...)")
        with self._errors():
            if self.disabled:
                return function_to_benchmark(*args, **kwargs)
            self._time(function_to_benchmark, args, kwargs)
            if not self._is_profiled():
                return function_to_benchmark(*args, **kwargs)
            return self._profile(function_to_benchmark, lambda: (args, kwargs), lambda seconds, done: seconds >= self.settings["max_time"])

    def pedantic(self, target: Callable[..., Any], args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None,
                 setup: Optional[Callable[[], Optional[Arguments]]] = None, rounds: int = 1, warmup_rounds: int = 0,
                 iterations: int = 1) -> Any:
        """Exactly so many rounds of so many calls; setup runs before each round and may return (args, kwargs)."""
        self._begin("benchmark.pedantic(...)")
        with self._errors():
            for name, value, least in (("iterations", iterations, 1), ("rounds", rounds, 1), ("warmup_rounds", warmup_rounds, 0)):
                if not isinstance(value, int) or value < least:
                    raise ValueError(f"{name} must be a number of at least {least}")
            if iterations > 1 and setup:
                raise ValueError("setup runs before a round, so with it a round is one call: iterations must be 1")
            named = kwargs or {}

            def arguments() -> Arguments:
                given = setup() if setup else None
                if given and (args or named):
                    raise TypeError("setup returns the arguments, so args and kwargs must not be given")
                return given or (args, named)

            return self._pedantic(target, arguments, rounds, warmup_rounds, iterations)

    def _pedantic(self, target: Callable[..., Any], arguments: Callable[[], Arguments], rounds: int, warmup_rounds: int,
                  iterations: int) -> Any:
        if self.disabled:
            args, kwargs = arguments()
            return target(*args, **kwargs)
        loops = iterations if iterations > 1 else 0
        for _ in range(warmup_rounds):
            self._round(target, *arguments(), loops)
        result, stats = None, self._results(iterations)
        for _ in range(rounds):
            seconds, result = self._round(target, *arguments(), loops)
            stats.update(seconds)
        if self._is_profiled():
            return self._profile(target, arguments, lambda seconds, done: done >= rounds * iterations)
        return self._round(target, *arguments(), 0)[1] if loops else result

    def _begin(self, mode: str) -> None:
        if self.mode:
            self.has_error = True
            raise FixtureAlreadyUsed(f"the benchmark fixture can be used once in a test, and {self.mode} did so before")
        self.mode = mode

    def _errors(self) -> "_Errors":
        return _Errors(self)

    def _results(self, iterations: int) -> Benchmarked:
        self.stats = Benchmarked(self, iterations)
        self._session.benchmarks.append(self.stats)
        return self.stats

    def _round(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Dict[str, Any], loops: int) -> Tuple[float, Any]:
        """The time of so many calls, without what coverage and the like trace. 0: of one, with what it returned; a loop keeps
        nothing, so that freeing the results is in its time and never two of them are there."""
        timer, had_gc, tracer = self.settings["timer"], gc.isenabled(), sys.gettrace()
        if self.settings["disable_gc"]:
            gc.disable()
        sys.settrace(None)
        try:
            if loops == 0:
                start = timer()
                result = function(*args, **kwargs)
                return timer() - start, result
            again = range(loops)
            start = timer()
            for _ in again:
                function(*args, **kwargs)
            return timer() - start, None
        finally:
            sys.settrace(tracer)
            if had_gc:
                gc.enable()

    def _time(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        """Rounds that last long against the clock, as many as fit into max_time."""

        def seconds_of(loops: int) -> float:
            return self._round(function, args, kwargs, loops)[0]

        seconds, loops = self._calibrate(seconds_of)
        rounds = max(self.settings["min_rounds"], math.ceil(self.settings["max_time"] / seconds) if seconds > 0 else 0)
        self._session.debug(f"{self.name}: {rounds} rounds of {loops} calls")
        stats = self._results(loops)
        if self.settings["warmup"]:
            for _ in range(min(rounds, max(1, self.settings["warmup_iterations"] // loops))):
                seconds_of(loops)
        for _ in range(rounds):
            stats.update(seconds_of(loops))

    def _calibrate(self, seconds_of: Callable[[int], float]) -> Tuple[float, int]:
        """How long a round lasts, and of how many calls."""
        precision = self.settings["calibration_precision"]
        wanted = max(self.settings["min_time"], tick_of(self.settings["timer"]) * precision)
        loops = 1
        while True:
            seconds = spent = seconds_of(loops)
            for most in (self.settings["max_time"], self.settings["max_time"] / 10, self.settings["max_time"] / 10):
                if spent < most:  # a first call may be slow for reasons of its own, another one may have lost its CPU
                    again = seconds_of(loops)
                    seconds, spent = min(seconds, again), spent + again
            if self.settings["warmup"]:
                seconds = min(seconds, self._warm_up(seconds_of, loops))
            self._session.debug(f"{self.name}: {loops} calls took {seconds:.3g} s; a round shall last {wanted:.3g} s")
            if seconds >= wanted or loops >= MOST_LOOPS:
                return seconds, loops
            if seconds * precision >= 5 * wanted:  # enough ticks to reckon with
                more = math.ceil(wanted * loops / seconds)
                if more == loops:
                    return seconds, loops
                loops = more
            else:
                loops *= 10

    def _warm_up(self, seconds_of: Callable[[int], float], loops: int) -> float:
        start, done, least = time.perf_counter(), 0, math.inf
        while done < self.settings["warmup_iterations"] and time.perf_counter() - start < self.settings["max_time"]:
            least, done = min(least, seconds_of(loops)), done + loops
        return least

    def _is_profiled(self) -> bool:
        return bool(self.settings["cprofile"])

    def _profile(self, function: Callable[..., Any], arguments: Callable[[], Arguments], enough: Callable[[float, int], bool]) -> Any:
        """More calls, which nobody times, with the sampler beside them; what the last one returned."""
        from leadline import BinaryNotFound, Error, region, sample

        path = os.path.join(self._session.profile_folder, re.sub(r"[^\w.=+-]+", "_", self.fullname).strip("_") + ".lead")
        try:
            os.makedirs(self._session.profile_folder, exist_ok=True)
            recorder = sample()
            recorder.start()
        except (Error, BinaryNotFound, OSError) as error:
            self._session.logger.warning(f"{self.name} is not recorded: {error}")
            args, kwargs = arguments()
            return function(*args, **kwargs)
        start, done = time.perf_counter(), 0
        try:
            with region(self.name):
                while not done or not enough(time.perf_counter() - start, done):
                    result = self._round(function, *arguments(), 0)[1]
                    done += 1
        finally:
            recorder.stop()
        try:
            recorder.save(path)
            self._session.profiles.append(path)
        except Error as error:
            self._session.logger.warning(f"{self.name} is not recorded: {error}")
        return result


class _Errors:
    """What goes wrong inside keeps the results out of what is kept."""

    def __init__(self, fixture: Benchmark) -> None:
        self._fixture = fixture

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            self._fixture.has_error = True


# ---- pytest's side --------------------------------------------------------------------------------------------


def start(config: pytest.Config) -> None:
    """The fixture and what surrounds it are there from now on."""
    config.pluginmanager.register(Session(config), SESSION)
    config.pluginmanager.register(sys.modules[__name__], SESSION + "-fixture")


@pytest.fixture
def benchmark(request: pytest.FixtureRequest) -> Iterator[Benchmark]:
    """Times a function: benchmark(function, *args, **kwargs) returns what the function returns."""
    session = request.config.pluginmanager.getplugin(SESSION)
    marker = request.node.get_closest_marker("benchmark")
    fixture = Benchmark(session, request.node, {**session.settings, **(marker.kwargs if marker else {})})
    yield fixture
    if not fixture.mode and not fixture.skipped:
        request.node.warn(UnusedBenchmark("the test has the benchmark fixture, but calls nothing with it"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("benchmark")
    if marker is None:
        return
    if marker.args:
        raise ValueError("@pytest.mark.benchmark takes no positional arguments")
    for name in marker.kwargs:
        if name not in MARKS:
            raise ValueError(f"@pytest.mark.benchmark has no {name!r}; there are: {', '.join(MARKS)}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    outcome: Any = yield
    fixture = getattr(item, "funcargs", {}).get("benchmark")
    if isinstance(fixture, Benchmark):
        fixture.skipped = fixture.skipped or outcome.get_result().outcome == "skipped"
