"""torch.profiler.profile with tables made by leadline: what key_averages().table() prints, from the trace instead of Python objects.

Torch builds an object per event before it can count them; leadline reads the trace. What a trace does not tell, torch is asked
for: rows as objects, events of several cycles together, names of overloads, widths of its own, and stacks with verbose=True.
"""

import gzip
import os
import shutil
import subprocess
import tempfile
import weakref
from importlib import import_module
from typing import Any, Iterator, List, Optional, Tuple

from leadline._binary import find_binary
from leadline._host import Error, words_of

# By name: the types of torch would be checked with ours, which takes minutes.
_torch: Any = import_module("torch")
_base: Any = import_module("torch.profiler").profile

_MEANS = ("cpu_time", "cuda_time", "device_time")
_SUMS = [f"{own}{device}_{what}" for own in ("", "self_") for device in ("cpu", "cuda", "device") for what in ("time_total", "memory_usage")]
SORT_KEYS = frozenset(("count", "flops", *_MEANS, *_SUMS))


class Profile(_base):  # type: ignore[misc]
    """What leadline.torch.profile() returns."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._trace: "Optional[_Trace]" = None  # of the cycle that ended last

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, *others: Any, **more: Any) -> "Averages":
        """The operators, counted; `.table()` of it is torch's table."""

        def ask_torch() -> Any:
            return _base.key_averages(self, group_by_input_shape, group_by_stack_n, *others, **more)

        if getattr(self.profiler, "kineto_results", None) is None:
            ask_torch()  # nothing was profiled: it raises
        is_plain = not group_by_stack_n and not any(others) and not any(more.values()) and self._is_told_by_its_trace()
        options = ["--group-by-shape"] if group_by_input_shape else []
        return Averages(ask_torch, self._written() if is_plain else None, options)

    def export_chrome_trace(self, path: str, *others: Any, **more: Any) -> None:
        """Writes the trace; torch can do that once, so a trace that is there already is copied."""
        if any(others) or any(more.values()):
            super().export_chrome_trace(path, *others, **more)
            return
        known = self._known()
        if known is not None:
            known.copy_to(os.fspath(path))
            return
        super().export_chrome_trace(os.fspath(path))
        self._trace = _Trace(self.profiler, os.fspath(path))

    def report(self, *words: str) -> str:
        """What `leadline report` says of the cycle that ended last, with these options: report("--overview"), report("--steps", "--json")."""
        if getattr(self.profiler, "kineto_results", None) is None:
            raise Error("nothing was profiled yet: call report() after the profile has stopped", 2)
        written = self._written()
        if written is None:
            raise Error("the trace file is gone or has changed since", 2)
        return _run("report", *(words or ("--overview",)), written.path)

    def _is_told_by_its_trace(self) -> bool:
        config = self.experimental_config
        return (not getattr(self, "acc_events", False) and getattr(self, "use_device", None) in (None, "cuda")
                and not (self.with_flops and not self.record_shapes) and not getattr(config, "verbose", False)
                and not getattr(config, "trace_only", False) and not getattr(self, "_use_cupti_monitor", False)
                and getattr(self, "post_processing_timeout_s", None) is None)

    def _known(self) -> "Optional[_Trace]":
        trace = self._trace
        return trace if trace is not None and trace.is_of(self.profiler) else None

    def _written(self) -> "Optional[_Trace]":
        """The trace as a file, written now if it was not before; None: the file that was has gone or changed."""
        known = self._known()
        if known is None and self._trace is not None and self._trace.profiler is self.profiler:
            return None
        if known is None:
            handle, path = tempfile.mkstemp(prefix="leadline-", suffix=".pt.trace.json")
            os.close(handle)
            known = self._trace = _Trace(self.profiler, path, is_ours=True)
            super().export_chrome_trace(path)
            known.note()
        return known


class _Trace:
    """A trace that was written, of one cycle."""

    def __init__(self, profiler: Any, path: str, is_ours: bool = False) -> None:
        self.profiler, self.path = profiler, path
        if is_ours:
            weakref.finalize(self, _remove, path, os.getpid())
        self.note()

    def note(self) -> None:
        """What is in the file now is the trace."""
        self._seen = _look(self.path)

    def is_of(self, profiler: Any) -> bool:
        """False for another cycle, and when somebody has changed the file."""
        return self.profiler is profiler and self._seen is not None and _look(self.path) == self._seen

    def copy_to(self, path: str) -> None:
        """As export_chrome_trace does: compressed if the name says so."""
        if path.endswith(".gz") == self.path.endswith(".gz"):
            if os.path.abspath(path) != os.path.abspath(self.path):
                shutil.copyfile(self.path, path)
            return
        with (gzip.open if self.path.endswith(".gz") else open)(self.path, "rb") as source, (gzip.open if path.endswith(".gz") else open)(path, "wb") as to:
            shutil.copyfileobj(source, to)


def _look(path: str) -> Optional[Tuple[int, ...]]:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _remove(path: str, pid: int) -> None:
    if os.getpid() == pid:  # a forked child leaves it alone
        try:
            os.unlink(path)
        except OSError:
            pass


class Averages:
    """The operators of a profile, counted. It is torch's list of rows, which torch makes when a row is asked for; table() does not need them."""

    def __init__(self, ask_torch: Any, trace: Optional[_Trace], options: List[str]) -> None:
        self._ask_torch, self._trace, self._options = ask_torch, trace, options
        self._rows: Any = None

    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, max_src_column_width: Optional[int] = 75, max_name_column_width: Optional[int] = 55,
              max_shapes_column_width: Optional[int] = 80, header: Optional[str] = None, top_level_events_only: bool = False, time_unit: Optional[str] = None) -> str:
        """What torch's table() prints, to the character."""
        widths = {"max_src_column_width": max_src_column_width, "max_name_column_width": max_name_column_width, "max_shapes_column_width": max_shapes_column_width}
        is_plain = list(widths.values()) == [75, 55, 80] and time_unit is None and (sort_by is None or sort_by in SORT_KEYS)
        if not is_plain or self._trace is None or (row_limit < 1 and row_limit != -1) or _look(self._trace.path) is None:
            unit = {} if time_unit is None else {"time_unit": time_unit}
            text: str = self._torch_rows().table(sort_by=sort_by, row_limit=row_limit, header=header, top_level_events_only=top_level_events_only, **widths, **unit)
            return text
        words = [*self._options, f"--limit={row_limit}"]
        if sort_by is not None:
            words.append(f"--sort={sort_by}")
        if top_level_events_only:
            words.append("--top-level")
        return _with_header(_report(self._trace.path, words), header)

    def _torch_rows(self) -> Any:
        if self._rows is None:
            self._rows = self._ask_torch()
        return self._rows

    def __str__(self) -> str:
        return self.table()

    def __len__(self) -> int:
        return len(self._torch_rows())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._torch_rows())

    def __getitem__(self, which: Any) -> Any:
        return self._torch_rows()[which]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._torch_rows(), name)


def _report(path: str, words: List[str]) -> str:
    release = ".".join(str(_torch.__version__).split("+")[0].split(".")[:2])
    return _run("report", "--ops", f"--torch={release}", *words, path)


def _run(*words: str) -> str:
    done = subprocess.run([find_binary(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Error(words_of(done.stderr.decode("utf-8", "replace")), done.returncode)
    return done.stdout.decode("utf-8")


def _with_header(table: str, header: Optional[str]) -> str:
    """The line above it is as long as the columns."""
    if header is None or not table:
        return table
    rule = next(line for line in table.split("\n") if line.startswith("---"))
    return f"{'=' * (len(rule) - 2)}\n{header}\n{table}"
