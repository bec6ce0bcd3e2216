"""Exact lines of chosen functions: every hit counted, every line timed."""

import builtins
import functools
import os
import sys
from typing import IO, Any, Callable, Iterator, Optional

from leadline import _agent
from leadline._host import Error
from leadline._sampler import Recorder


class LineCounter(Recorder):
    """Counts the lines of some functions, methods or classes: while `with` lasts, or while a decorated function runs.

        with leadline.lines(f, g) as counted:      @leadline.lines
            work()                                 def f(): …
        counted.print_stats()                      f(); f.print_stats()
    """

    def __init__(self, *functions: Any) -> None:
        super().__init__()
        self._codes = [code for function in functions for code in codes_of(function)]
        if not self._codes:
            raise Error("lines() expects Python functions, methods or classes", 2)
        self._depth = 0
        self._agent: Any = None
        self._function: Optional[Callable[..., Any]] = functions[0] if len(functions) == 1 else None
        if self._function is not None:
            functools.update_wrapper(self, self._function)

    def start(self) -> None:
        """Begins a new recording."""
        _agent.must_be_free()
        answer = self._begin(lines=True)
        self._agent = _agent.attach(answer["session"])
        why = self._agent.start(False)
        if why is True:
            why = self._agent.lines_start("", os.path.dirname(os.__file__))
        if why is not True:
            super().stop()
            raise Error(f"lines cannot be counted: {why or 'the agent does not start'}")
        _agent.user = self
        for code in self._codes:
            self._agent.lines_add(code)

    def stop(self) -> None:
        """Ends it."""
        if _agent.user is self:
            self._agent.lines_stop()
            self._agent.stop()
            _agent.user = None
        super().stop()

    def print_stats(self, limit: int = 0, file: Optional[IO[str]] = None) -> None:
        """Ends the recording; each function with its lines, on standard output if nothing else is said."""
        print(self.report("--lines", "--limit", str(limit)), end="", file=sys.stdout if file is None else file)

    def __enter__(self) -> "LineCounter":
        if self._depth == 0:
            self.start()
        self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.stop()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            raise TypeError("lines() of several functions cannot be a decorator")
        with self:
            return self._function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def codes_of(thing: Any, deep: int = 3) -> "Iterator[Any]":
    """The code objects behind a function, a method, a property, a class or what wraps them."""
    code = getattr(thing, "__code__", None)
    if code is not None:
        yield code
    if isinstance(thing, type):
        inner = [v for v in vars(thing).values() if hasattr(v, "__code__") or hasattr(v, "__func__") or isinstance(v, property)]
    else:
        inner = [getattr(thing, name, None) for name in ("__func__", "__wrapped__", "fget", "fset", "fdel")]
    for one in inner:
        if one is not None and deep:
            yield from codes_of(one, deep - 1)


def lines(*functions: Any) -> Any:
    """Counts the lines of these functions: `with lines(f, g) as counted:`, or `@lines` before one.

    In a program that `leadline run --lines` has started, `@lines` adds the function to those counted there.
    """
    profile = getattr(builtins, "profile", None)
    if profile is not None and len(functions) == 1 and os.environ.get("LEADLINE_SESSION"):
        return profile(functions[0])
    return LineCounter(*functions)
