"""The tracer: every call of every function, as cProfile.Profile has it, with cProfile's methods."""

import functools
import marshal
import os
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, TypeVar, Union

from leadline import _agent, _stats
from leadline._files import private
from leadline._host import Error
from leadline._sampler import Path, Recorder
from leadline._stats import Entry, Function, Row, Stats

Result = TypeVar("Result")
Called = TypeVar("Called", bound=Callable[..., Any])

_closing: Any = None  # hosts of tracers that died while another counted: closing them would be counted


class Tracer(Recorder):
    """Counts and times every call of all threads between enable() and disable(), which may be repeated.

    A program written for cProfile.Profile works with it. What is counted is added up until clear(); asking for
    statistics ends the recording as create_stats() does, and save() writes what was recorded since the last question.
    exclude: files and functions that have no rows, as `leadline run --exclude` takes them; what they take is their caller's.
    """

    def __init__(self, timer: Optional[Callable[[], float]] = None, timeunit: float = 0.0, subcalls: bool = True,
                 builtins: bool = True, *, exclude: Union[str, Sequence[str]] = ()) -> None:
        super().__init__()
        if timer is not None:
            raise Error("leadline uses its own clock: timer is not supported", 2)
        self._with_builtins = builtins
        self._exclude = exclude if isinstance(exclude, str) else ",".join(exclude)
        self._session = ""
        self._past: Dict[Function, Row] = {}  # of recordings that have ended
        self._is_counted = True  # the last one is part of _past
        self._depth = 0  # of decorated functions and `with`
        self._agent: Any = None

    # ---- as cProfile.Profile

    def enable(self, subcalls: bool = True, builtins: bool = True) -> None:
        """Begins, or goes on. subcalls makes no difference: calls of calls are always kept apart."""
        if _agent.user is self:
            return
        _agent.must_be_free()
        self._with_builtins = self._with_builtins and builtins
        if not self._is_on:
            self._begin_tracing()
        elif _agent.session != self._session:  # another tracer was on in between
            _agent.attach(self._session)
        self._agent.exclude(self._exclude)
        _agent.user = self
        why = self._agent.start(False)
        if why is not True:
            _agent.user = None
            raise Error(f"calls cannot be traced: {why or 'the agent does not start'}")

    def disable(self) -> None:
        """Stops counting; enable() goes on."""
        global _closing
        if _agent.user is self:
            self._agent.stop()
            _agent.user = None
        while _closing is not None and _agent.user is None:
            host, _closing = _closing
            host.close()

    def create_stats(self) -> None:
        """disable(), and the statistics are ready."""
        self.stop()
        if not self._is_counted:
            rows: Dict[Function, Row] = marshal.loads(self._connection().ask("export", "--format", "pstats", "@"))
            self._past = _stats.add(self._past, _stats.clean(rows, self._with_builtins))
            self._is_counted = True

    def snapshot_stats(self) -> None:
        """The statistics up to now are ready; counting goes on where it was on."""
        was_on = _agent.user is self
        self.create_stats()
        if was_on:
            self.enable()

    def clear(self) -> None:
        """Forgets what was counted."""
        self.stop()
        self._past = {}
        self._is_counted = True

    @property
    def stats(self) -> Stats:
        """All that was counted, as a pstats.Stats (and as the dict cProfile has here)."""
        self.create_stats()
        return Stats(self._past)

    @stats.setter
    def stats(self, value: Any) -> None:
        """pstats.Stats(tracer) takes the statistics, and puts nothing in their place."""

    def getstats(self) -> List[Entry]:
        """A list with an entry per function; `code` has co_filename, co_firstlineno and co_name, or is a C function's name."""
        self.create_stats()
        return _stats.entries(self._past)

    def print_stats(self, sort: Union[str, int, tuple] = -1) -> None:  # type: ignore[type-arg]
        """The table everybody knows, on standard output; sort keys are those of pstats."""
        _stats.printed(self.stats, sort)

    def dump_stats(self, file: Path) -> None:
        """Writes a file for pstats, snakeviz and the like; replaces it."""
        self.create_stats()
        with open(file, "wb", opener=private) as out:
            marshal.dump(self._past, out)

    def run(self: "Self", cmd: str) -> "Self":
        """Executes a statement in __main__, counted."""
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self: "Self", cmd: Any, globals: Dict[str, Any], locals: Any) -> "Self":
        """Executes a statement, or code, in these namespaces, counted."""
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
        """Calls a function, counted; returns what it returns."""
        self.enable()
        try:
            return func(*args, **kwargs)
        finally:
            self.disable()

    # ---- as a recorder

    def start(self) -> None:
        """enable()"""
        self.enable()

    def stop(self) -> None:
        """Ends the recording; enable() would begin another, whose counts are added."""
        self.disable()
        super().stop()

    def __enter__(self: "Self") -> "Self":
        self._depth += 1
        self.enable()
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self.disable()

    def __call__(self, function: Called) -> Called:
        """A decorator: counts while the function runs, also when it calls itself."""
        import inspect

        if inspect.iscoroutinefunction(function):

            async def traced_coroutine(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return functools.wraps(function)(traced_coroutine)  # type: ignore[return-value]

        def traced(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return functools.wraps(function)(traced)  # type: ignore[return-value]

    def _begin_tracing(self) -> None:
        self._session = self._begin(trace=True, exclude=self._exclude)["session"]
        self._is_counted = False
        self._agent = _agent.attach(self._session)

    def __del__(self) -> None:
        global _closing
        if self._host is not None:
            _closing = (self._host, _closing)
        try:
            self.disable()
        except Exception:  # at the end of the interpreter anything may be gone
            pass


Self = TypeVar("Self", bound=Tracer)


def trace(*, exclude: Union[str, Sequence[str]] = ()) -> Tracer:
    """A tracer for `with`: `with leadline.trace() as t: …`, then `t.print_stats()`, `t.save("x.lead")`."""
    return Tracer(exclude=exclude)


def run(statement: str, filename: Optional[Path] = None, sort: Union[str, int] = -1) -> None:
    """Executes a statement in __main__ under a tracer, and prints the table or writes the file: as cProfile.run."""
    import __main__

    runctx(statement, __main__.__dict__, __main__.__dict__, filename, sort)


def runctx(statement: Any, globals: Dict[str, Any], locals: Any, filename: Optional[Path] = None,
           sort: Union[str, int] = -1) -> None:
    """The same in given namespaces: as cProfile.runctx."""
    tracer = Tracer()
    try:
        tracer.runctx(statement, globals, locals)
    except SystemExit:
        pass
    finally:
        _show(tracer, filename, sort)


def runcall(func: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
    """Calls a function under a tracer, prints the table, and returns what it returned."""
    tracer = Tracer()
    try:
        return tracer.runcall(func, *args, **kwargs)
    finally:
        _show(tracer, None, -1)


def _show(tracer: Tracer, filename: Optional[Path], sort: Union[str, int]) -> None:
    if filename is not None:
        tracer.dump_stats(filename)
    else:
        tracer.print_stats(sort)
