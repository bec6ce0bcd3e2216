"""What surrounds the benchmarks of one pytest run: their settings, what is kept of them and read back, and whether they became slower."""

import importlib
import json
import os
import platform
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import pytest

from leadline._files import private
from leadline._pytest import option

FORMAT = "5.1.0"  # of pytest-benchmark, whose files these are
NEEDED = ("min", "max", "mean", "stddev", "median", "iqr", "rounds", "iterations")
Row = Dict[str, Any]


class Limit:
    """median:5% or mean:0.001: how much worse than a kept result is too much. Raises ValueError."""

    def __init__(self, text: str) -> None:
        found = re.fullmatch(r"(min|max|mean|median|stddev|iqr):(\d*\.?\d+(?:[eE][-+]?\d+)?)(%?)", text)
        if not found:
            raise ValueError(f"expects, for example, median:5% or mean:0.001 (seconds), not {text!r}")
        self.field, self.most, self.is_share = found[1], float(found[2]), bool(found[3])

    def broken_by(self, now: Any, before: Row) -> Optional[str]:
        """In words; None where it holds."""
        value, base = now[self.field], before[self.field]
        if self.is_share:
            worse = (value / base - 1) * 100 if base else (float("inf") if value else 0.0)
            return f"{self.field} is {worse:.1f} % worse, {self.most:g} % are allowed" if worse > self.most else None
        return f"{self.field} is {value - base:.3g} s worse, {self.most:g} s are allowed" if value - base > self.most else None


class Logger:
    """What hooks of a conftest.py may tell the user: it stands in the summary."""

    def __init__(self) -> None:
        self.lines: List[Tuple[str, bool]] = []

    def info(self, text: str, **markup: Any) -> None:
        self.lines.append((text, False))

    debug = info

    def warning(self, text: str, **markup: Any) -> None:
        self.lines.append((text, True))

    error = warning


def timer_named(name: str) -> Callable[[], float]:
    """module.name, for --benchmark-timer."""
    module, _, attribute = name.rpartition(".")
    try:
        timer: Callable[[], float] = getattr(importlib.import_module(module), attribute)
        return timer
    except (ImportError, AttributeError, ValueError):
        raise pytest.UsageError(f"--benchmark-timer expects a clock such as time.perf_counter or time.process_time, not {name!r}") from None


# ---- this machine, this commit --------------------------------------------------------------------------------


def machine_id() -> str:
    """The folder of kept results: Linux-CPython-3.11-64bit."""
    return "-".join((platform.system(), platform.python_implementation(), ".".join(platform.python_version_tuple()[:2]), platform.architecture()[0]))


def processor() -> Dict[str, Any]:
    """With the names of py-cpuinfo, as far as the kernel says it."""
    words = {"vendor_id": "vendor_id_raw", "model name": "brand_raw", "stepping": "stepping", "model": "model", "cpu family": "family"}
    found: Dict[str, Any] = {"arch_string_raw": platform.machine(), "bits": sys.maxsize.bit_length() + 1, "count": os.cpu_count() or 1,
                             "python_version": platform.python_version()}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(65536).partition("\n\n")[0]
    except OSError:
        return found
    for line in first.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in words:
            found[words[key.strip()]] = int(value) if value.strip().isdigit() else value.strip()
        elif key.strip() == "flags":
            found["flags"] = sorted(value.split())
    return found


def machine_info() -> Dict[str, Any]:
    return {"node": platform.node(), "processor": platform.processor(), "machine": platform.machine(),
            "python_compiler": platform.python_compiler(), "python_implementation": platform.python_implementation(),
            "python_implementation_version": platform.python_version(), "python_version": platform.python_version(),
            "python_build": list(platform.python_build()), "release": platform.release(), "system": platform.system(), "cpu": processor()}


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def commit_info() -> Dict[str, Any]:
    info: Dict[str, Any] = {"id": "unversioned", "time": None, "author_time": None, "dirty": False, "project": Path.cwd().name, "branch": "(unknown)"}
    try:
        info["id"], info["time"], info["author_time"] = _git("show", "-s", "--format=%H%n%cI%n%aI", "HEAD").splitlines()
        info["dirty"] = bool(_git("status", "--porcelain", "--untracked-files=no"))
        branch = _git("rev-parse", "--abbrev-ref", "HEAD")
        info["branch"] = "(detached head)" if branch == "HEAD" else branch
        info["project"] = re.split(r"[/:]", re.sub(r"(\.git)?/*$", "", _git("config", "remote.origin.url")))[-1] or info["project"]
    except (OSError, ValueError, subprocess.SubprocessError):
        pass  # no git, no repository, or no remote: what is known so far
    return info


def is_same_machine(one: Any, other: Any) -> bool:
    """In what makes times differ; clock rates of the moment do not count."""

    def parts(info: Any) -> Any:
        cpu = info.get("cpu") or {}
        return [info.get(key) for key in ("node", "machine", "system", "python_implementation", "python_version")] + [
            cpu.get("brand_raw", cpu.get("brand")), cpu.get("count")]

    return bool(parts(one) == parts(other))


# ---- kept results ---------------------------------------------------------------------------------------------


class Storage:
    """.benchmarks/MACHINE/NNNN_NAME.json"""

    def __init__(self, uri: str, logger: Logger) -> None:
        kind, separator, path = uri.rpartition("://")
        if separator and kind != "file":
            raise pytest.UsageError(f"--benchmark-storage: results are saved in folders, file://FOLDER, not in {uri!r}")
        self.folder, self._logger = Path(path or ".").absolute(), logger

    def save(self, document: Dict[str, Any], name: str) -> Path:
        folder = self.folder / machine_id()
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [int(path.name[:4]) for path in self.find("[0-9][0-9][0-9][0-9]_")]
        path = folder / f"{max(numbers, default=0) + 1:04d}_{name}.json"
        save_json(path, document)
        return path

    def find(self, which: str) -> List[Path]:
        """A file; else the begin of file names, those of this machine or, with MACHINE/ before it, of another."""
        if os.path.isfile(which):
            return [Path(which)]
        machine, _, name = which.rpartition("/")
        pattern = name.rstrip("*") + "*.json"
        try:
            found = [*self.folder.glob(f"{machine or machine_id()}/{pattern}"), *self.folder.glob(pattern)]
        except (ValueError, NotImplementedError):  # no pattern at all
            return []
        return sorted(found, key=lambda path: (path.name, path.parent))

    def load(self, which: str) -> Iterable[Tuple[str, Dict[str, Any]]]:
        """What can be read of them, each with the name of its file."""
        for path in self.find(which):
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                for one in document["benchmarks"]:
                    figures = one["stats"]
                    for key in NEEDED:
                        figures[key] + 0  # a number
                    figures.setdefault("ops", 1 / figures["mean"] if figures["mean"] else 0.0)
                    figures.setdefault("outliers", "")
                    one["fullname"] + one["name"]
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                self._logger.warning(f"{path} cannot be read as benchmark results: {error!r}")
                continue
            yield self._short(path), document

    def _short(self, path: Path) -> str:
        try:
            parts = path.absolute().relative_to(self.folder).with_suffix("").parts
        except ValueError:
            return str(path.with_suffix(""))
        return "/".join(parts[1:] if parts[0] == machine_id() else parts)


def as_json(document: Any) -> str:
    return json.dumps(document, indent=4, default=lambda value: f"UNSERIALIZABLE[{value!r}]")


def save_json(path: Any, document: Any) -> None:
    text = as_json(document)
    with open(path, "w", encoding="ascii", opener=private) as out:
        out.write(text)


# ---- the run --------------------------------------------------------------------------------------------------


class Session:
    """Registered with pytest: the hooks around the benchmarks, and pytest-benchmark's own as far as no conftest.py has them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.logger = config, Logger()
        self.benchmarks: List[Any] = []
        self.profiles: List[str] = []
        self.profile_folder: str = config.getoption("leadline_profile_dir")
        self.only: bool = option(config, "only")
        self.skip: bool = option(config, "skip") and not self.only
        self.disabled: bool = option(config, "disable") and not option(config, "enable")
        if hasattr(config, "workerinput") or config.getoption("dist", "no") != "no":
            if not self.disabled and not self.skip and not hasattr(config, "workerinput"):
                self.logger.warning("benchmarks are not timed, because xdist runs several tests at once")
            self.disabled = True
        if self.disabled and self.only:
            raise pytest.UsageError("--benchmark-only with --benchmark-disable (or xdist) would time nothing")
        names = ("min_time", "max_time", "min_rounds", "calibration_precision", "disable_gc", "warmup", "warmup_iterations")
        self.settings: Dict[str, Any] = {name: option(config, name) for name in names}
        self.settings.update(timer=timer_named(option(config, "timer")), cprofile=config.getoption("leadline_profile"))
        self.storage = Storage(option(config, "storage"), self.logger)
        self.limits: List[Limit] = option(config, "compare_fail")
        self.groups: Any = None
        self.broken: List[str] = []
        self.compared: Dict[str, Dict[str, Row]] = {}  # file, full name
        if option(config, "compare"):
            self._load_compared(option(config, "compare"))

    def debug(self, text: str) -> None:
        if option(self.config, "verbose"):
            self.logger.info(text)

    def _load_compared(self, which: Any) -> None:
        loaded = list(self.storage.load("[0-9][0-9][0-9][0-9]_"))[-1:] if which is True else list(self.storage.load(which))
        if not loaded:
            called = "" if which is True else f" that match {which!r}"
            self.logger.warning(f"nothing to compare with: there are no results{called} in {self.storage.folder}; --benchmark-save NAME saves some")
        here = self._machine() if loaded else None
        for source, document in loaded:
            self.config.hook.pytest_benchmark_compare_machine_info(config=self.config, benchmarksession=self, machine_info=here,
                                                                   compared_benchmark=document)
            self.compared[source] = {one["fullname"]: one for one in document["benchmarks"]}
        if self.limits and not self.compared:
            raise pytest.UsageError("--benchmark-compare-fail: " + "; ".join(text for text, _ in self.logger.lines))

    def _machine(self) -> Any:
        info = self.config.hook.pytest_benchmark_generate_machine_info(config=self.config)
        self.config.hook.pytest_benchmark_update_machine_info(config=self.config, machine_info=info)
        return info

    # -- pytest's hooks

    def pytest_report_collectionfinish(self, items: List[pytest.Item]) -> List[str]:
        if not any("benchmark" in getattr(item, "fixturenames", ()) for item in items) or self.skip:
            return []
        if self.disabled:
            return ["benchmarks: leadline, off: each is called once"]
        words = " ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in self.settings.items() if name != "cprofile")
        return [f"benchmarks: leadline ({words})"]

    def pytest_collection_modifyitems(self, items: List[pytest.Item]) -> None:
        for item in items:
            is_benchmark = "benchmark" in getattr(item, "fixturenames", ())
            if is_benchmark and self.skip:
                item.add_marker(pytest.mark.skip(reason="a benchmark, and --benchmark-skip was given"))
            elif not is_benchmark and self.only:
                item.add_marker(pytest.mark.skip(reason="no benchmark, and --benchmark-only was given"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._keep()
        rows = [row for one in self.benchmarks if one for row in self._rows_of(one)]
        if rows:
            self.groups = self.config.hook.pytest_benchmark_group_stats(config=self.config, benchmarks=rows, group_by=option(self.config, "group_by"))
            self._draw(option(self.config, "histogram"))
        if self.broken and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from leadline._pytest_table import show

        if self.groups and not option(self.config, "quiet"):
            show(self.config, terminalreporter, self.groups)
        for text, is_warning in self.logger.lines:
            terminalreporter.write_line(f"leadline: {text}", **({"yellow": True} if is_warning else {}))
        if self.profiles:
            terminalreporter.write_line(f"leadline: {len(self.profiles)} recorded; look at one with: leadline view {self.profiles[0]}")
        if self.broken:
            terminalreporter.section("slower than before", red=True)
            for line in self.broken:
                terminalreporter.write_line(line, red=True)

    # -- what is kept, what is shown

    def _keep(self) -> None:
        name, path = option(self.config, "save"), option(self.config, "json")
        if not name and option(self.config, "autosave"):
            commit = commit_info()
            name = "_".join([commit["id"], datetime.now(timezone.utc).strftime("%Y%m%d_%H%M%S"), *["uncommited-changes"] * commit["dirty"]])
        if not name and not path:
            return
        if not self.benchmarks:
            if not self.disabled:
                self.logger.warning("nothing was saved, because no benchmark ran")
            return
        hook, machine = self.config.hook, self._machine()
        commit = hook.pytest_benchmark_generate_commit_info(config=self.config)
        hook.pytest_benchmark_update_commit_info(config=self.config, commit_info=commit)

        def document(with_data: bool) -> Any:
            made = hook.pytest_benchmark_generate_json(config=self.config, benchmarks=self.benchmarks, include_data=with_data,
                                                       machine_info=machine, commit_info=commit)
            hook.pytest_benchmark_update_json(config=self.config, benchmarks=self.benchmarks, output_json=made)
            return made

        try:
            if path:
                save_json(path, document(True))
                self.logger.info(f"results are in {path}")
            if name:
                self.logger.info(f"results saved in {self.storage.save(document(option(self.config, 'save_data')), name)}")
        except OSError as error:
            raise pytest.UsageError(f"cannot save the results: {error}") from None

    def _draw(self, prefix: Any) -> None:
        from leadline._pytest_picture import write

        if not prefix:
            return
        try:
            paths = write(self.config, datetime.now(timezone.utc).strftime("benchmark_%Y%m%d_%H%M%S") if prefix is True else prefix, self.groups)
        except OSError as error:
            raise pytest.UsageError(f"--benchmark-histogram: {error}") from None
        self.logger.info("pictures are in " + ", ".join(map(str, paths)))

    def _rows_of(self, one: Any) -> Iterable[Row]:
        """Of kept results first, then of now."""
        source = None
        for name, compared in self.compared.items():
            if one.fullname not in compared:
                continue
            source = "NOW"
            row = {**one.as_dict(stats=False), **compared[one.fullname]["stats"], "path": name, "source": name}
            told = (limit.broken_by(one, row) for limit in self.limits)
            self.broken += [f"{one.fullname}: {text} (than in {name})" for text in told if text]
            yield row
        yield {**one.as_dict(include_data=False, flat=True), "path": None, "source": source, "has_error": one.has_error}

    # -- pytest-benchmark's hooks, after any of a conftest.py

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_generate_machine_info(self) -> Dict[str, Any]:
        return machine_info()

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_generate_commit_info(self) -> Dict[str, Any]:
        return commit_info()

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_generate_json(self, benchmarks: Any, include_data: bool, machine_info: Any, commit_info: Any) -> Dict[str, Any]:
        from leadline import __version__

        return {"machine_info": machine_info, "commit_info": commit_info,
                "benchmarks": [one.as_dict(include_data=include_data) for one in benchmarks if one and not one.has_error],
                "datetime": datetime.now(timezone.utc).isoformat(), "version": FORMAT, "leadline_version": __version__}

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_compare_machine_info(self, machine_info: Any, compared_benchmark: Any) -> None:
        if not is_same_machine(machine_info, compared_benchmark.get("machine_info") or {}):
            self.logger.warning("the saved results are from another machine or interpreter, which may explain differences")

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_group_stats(self, benchmarks: Any, group_by: str) -> Any:
        from leadline._pytest_table import grouped

        return grouped(benchmarks, group_by)

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_scale_unit(self, config: Any, unit: str, benchmarks: Any, best: Any, worst: Any, sort: str) -> Tuple[str, float]:
        from leadline._pytest_table import scale_of

        return scale_of(option(config, "time_unit"), unit, benchmarks, best, worst, sort)
