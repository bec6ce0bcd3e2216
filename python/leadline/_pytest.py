"""The pytest plugin: a `benchmark` fixture with pytest-benchmark's habits, flags and files. Here are its options and whether it is on.

Every pytest run of an environment with leadline in it imports this file, so it imports little; the rest follows once it is needed.
Where pytest-benchmark itself is active this one stands back: both would own the same options, hooks and fixture.
"""

import argparse
import os
import sys
from typing import Any, List, Optional, Union

import pytest

COLUMNS = ("min", "max", "mean", "stddev", "median", "iqr", "outliers", "ops", "rounds", "iterations")
SORTS = ("min", "max", "mean", "stddev", "name", "fullname")
NAMES = ("short", "normal", "long", "trial")
GROUPS = ("group", "name", "func", "fullname", "fullfunc", "param")
STAND_BACK = "leadline: pytest-benchmark is active and runs the benchmarks; with -p no:benchmark leadline does"


def stands_back(manager: Any) -> bool:
    """Whether pytest-benchmark is active, or will be as soon as pytest has come to it."""
    names = ("benchmark", "pytest_benchmark.plugin")
    if any(manager.hasplugin(name) for name in names):
        return True
    if any(manager.is_blocked(name) for name in names):
        return False
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") or "--disable-plugin-autoload" in sys.argv:
        return False
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution("pytest-benchmark")
    except PackageNotFoundError:
        return False
    return True


# ---- options --------------------------------------------------------------------------------------------------


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expects seconds, not {text!r}")
    return value


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expects a number of at least 1, not {text!r}")
    return int(text)


def _warmup(text: str) -> bool:
    word = text.strip().lower()
    if word in ("on", "true", "yes", ""):
        return True
    if word in ("off", "false", "no", "auto"):  # auto is for interpreters that compile while they run
        return False
    raise argparse.ArgumentTypeError(f"expects auto, on or off, not {text!r}")


def _columns(text: str) -> List[str]:
    chosen = [word.strip() for word in text.lower().split(",")]
    unknown = [word for word in chosen if word not in COLUMNS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no column {unknown[0]!r}; there are: {', '.join(COLUMNS)}")
    return chosen


def _group_by(text: str) -> str:
    for word in text.split(","):
        if word not in GROUPS and not word.startswith("param:"):
            raise argparse.ArgumentTypeError(f"cannot group by {word!r}; there are: {', '.join(GROUPS)}, param:NAME")
    return text


def _save_name(text: str) -> str:
    if not text or set(text) & set(r"\/:*?<>|"):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be part of a file name")
    return text


def _limit(text: str) -> Any:
    from leadline._pytest_session import Limit

    try:
        return Limit(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def pytest_addoption(parser: pytest.Parser, pluginmanager: Any) -> None:
    own = parser.getgroup("leadline")
    own.addoption("--leadline-profile", action="store_true", default=False,
                  help="after timing a benchmark, also record it, for leadline view and report")
    own.addoption("--leadline-profile-dir", metavar="FOLDER", default=os.path.join(".benchmarks", "profiles"), help="folder for the recordings (default: %(default)s)")
    if stands_back(pluginmanager):
        return
    add = parser.getgroup("benchmark", "benchmarks (leadline)").addoption
    add("--benchmark-only", action="store_true", default=False, help="run only benchmarks; overrides --benchmark-skip")
    add("--benchmark-skip", action="store_true", default=False, help="skip tests that use the benchmark fixture")
    add("--benchmark-disable", action="store_true", default=False, help="call each benchmarked function once, without timing it")
    add("--benchmark-enable", action="store_true", default=False, help="time benchmarks anyway; overrides --benchmark-disable")
    add("--benchmark-min-time", metavar="SECONDS", type=_seconds, default=0.000005, help="minimum time of a round (default: %(default)s)")
    add("--benchmark-max-time", metavar="SECONDS", type=_seconds, default=1.0, help="time to spend on each benchmark, roughly (default: %(default)s)")
    add("--benchmark-min-rounds", metavar="N", type=_count, default=5, help="minimum number of rounds, even beyond the maximum time (default: %(default)s)")
    add("--benchmark-timer", metavar="FUNC", default="time.perf_counter", help="clock, as module.name (default: %(default)s)")
    add("--benchmark-calibration-precision", metavar="N", type=_count, default=10, help="minimum time of a round, in ticks of the clock (default: %(default)s)")
    add("--benchmark-warmup", metavar="KIND", nargs="?", type=_warmup, default=False, const=True, help="warm up before timing: auto, on or off (default: auto)")
    add("--benchmark-warmup-iterations", metavar="N", type=_count, default=100000, help="maximum number of calls in a warm-up (default: %(default)s)")
    add("--benchmark-disable-gc", action="store_true", default=False, help="turn garbage collection off in timed rounds")
    add("--benchmark-sort", metavar="COL", choices=SORTS, default="min", help="column to sort by: " + ", ".join(SORTS) + " (default: min)")
    add("--benchmark-group-by", metavar="LABEL", type=_group_by, default="group", help="one table per " + ", ".join(GROUPS) + " or param:NAME (default: group)")
    add("--benchmark-columns", metavar="LABELS", type=_columns, default=list(COLUMNS), help="columns to show, separated by commas")
    add("--benchmark-name", metavar="FORMAT", choices=NAMES, default="normal", help="how to write names: short, normal, long or trial")
    add("--benchmark-time-unit", metavar="UNIT", choices=("ns", "us", "ms", "s", "auto"), default="auto", help="time unit of the tables: ns, us, ms, s or auto")
    add("--benchmark-save", metavar="NAME", type=_save_name, help="save the results in STORAGE/MACHINE/NNNN_NAME.json")
    add("--benchmark-autosave", action="store_true", default=False, help="save the results under a name made of commit and time")
    add("--benchmark-save-data", action="store_true", default=False, help="save every round, not only statistics")
    add("--benchmark-storage", metavar="URI", default="file://./.benchmarks", help="folder of saved results (default: %(default)s)")
    add("--benchmark-compare", metavar="NUM", nargs="?", default=None, const=True, help="compare with saved results: NUM or a file (default: the latest)")
    add("--benchmark-compare-fail", metavar="EXPR", nargs="+", type=_limit, action="extend", default=[],
        help="fail if worse than the saved results by more than this: median:5%%, or mean:0.001 for seconds; may be repeated")
    add("--benchmark-json", metavar="PATH", help="write all results, with every round, to PATH")
    add("--benchmark-histogram", metavar="PREFIX", nargs="?", default=None, const=True,
        help="draw the times of each group in PREFIX.svg or PREFIX-GROUP.svg (default: benchmark_DATE_TIME)")
    add("--benchmark-verbose", action="store_true", default=False, help="show how each benchmark is calibrated")
    add("--benchmark-quiet", action="store_true", default=False, help="print no tables")


# ---- on or off ------------------------------------------------------------------------------------------------


def pytest_addhooks(pluginmanager: Any) -> None:
    if not stands_back(pluginmanager):
        from leadline import _pytest_hooks

        pluginmanager.add_hookspecs(_pytest_hooks)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if not stands_back(config.pluginmanager):
        config.addinivalue_line("markers", "benchmark: settings of one benchmark (group, min_rounds, max_time, timer, …)")
        from leadline import _pytest_benchmark

        _pytest_benchmark.start(config)
    elif config.getoption("leadline_profile"):
        raise pytest.UsageError("--leadline-profile needs leadline's own benchmarks, but pytest-benchmark is active: add -p no:benchmark")


def pytest_report_collectionfinish(config: pytest.Config, items: List[pytest.Item]) -> Union[str, List[str]]:
    used = any("benchmark" in getattr(item, "fixturenames", ()) for item in items)
    return STAND_BACK if used and stands_back(config.pluginmanager) else []


def option(config: pytest.Config, name: str) -> Any:
    """--benchmark-NAME, with - as _."""
    value: Optional[Any] = config.getoption("benchmark_" + name)
    return value
