"""Regions: named spans of time that every recording in progress gets.

While nothing records, `with region("load"):` must cost next to nothing. So `region` is the look-up of a dict (names
seen before map to objects that do nothing), and those objects enter and leave through functions written in C that
ignore their arguments. When a recording begins the dict is emptied, and what is missing from it is timed.
"""

import functools
import threading
import time
from typing import Any, Callable, Dict, List, TypeVar

Sink = Callable[[int, int, int, str], None]  # begin and duration in ns, kernel's thread id, name
Function = TypeVar("Function", bound=Callable[..., Any])

NAMES_MOST = 10000  # kept while nothing records; a program may make up names without end

_sinks: List[Sink] = []


class Region:
    """What region() returns: a context manager, and a decorator of functions."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, function: Function) -> Function:
        import inspect  # which is slow to import

        name = self.name
        if inspect.iscoroutinefunction(function):

            async def timed_coroutine(*args: Any, **kwargs: Any) -> Any:
                with region(name):
                    return await function(*args, **kwargs)

            return functools.wraps(function)(timed_coroutine)  # type: ignore[return-value]

        def timed(*args: Any, **kwargs: Any) -> Any:
            with region(name):
                return function(*args, **kwargs)

        return functools.wraps(function)(timed)  # type: ignore[return-value]

    def __enter__(self) -> None:
        raise NotImplementedError  # both are

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError


class _Off(Region):
    """While nothing records. Both functions take what they are given and return something false.

    An audit event nobody listens to would leave 6 to 10 ns sooner, but a program may have hooks that listen.
    """

    __slots__ = ()
    __enter__ = [].clear
    __exit__ = type.__prepare__  # type: ignore[assignment]


class _On(Region):
    """A span being timed; tells whoever records when it ends."""

    __slots__ = ("begin_ns",)

    def __enter__(self) -> None:
        self.begin_ns = time.monotonic_ns()

    def __exit__(self, *error: object) -> None:
        tell(self.begin_ns, time.monotonic_ns() - self.begin_ns, threading.get_native_id(), self.name)


class _Regions(Dict[str, Region]):
    def __missing__(self, name: str) -> Region:
        if _sinks:
            return _On(name)
        off = _Off(name)
        if len(self) < NAMES_MOST:
            self[name] = off
            if _sinks:  # a recording has begun in between
                self.clear()
        return off


_regions = _Regions()


def tell(begin_ns: int, duration_ns: int, thread: int, name: str) -> None:
    """Of a span that has ended, to all recordings in progress."""
    for sink in tuple(_sinks):
        sink(begin_ns, duration_ns, thread, name)


def is_recording() -> bool:
    """Whether anybody wants to know of regions."""
    return bool(_sinks)


def add_sink(sink: Sink) -> None:
    """From now on it is told of every region that ends."""
    _sinks.append(sink)
    _regions.clear()


def remove_sink(sink: Sink) -> None:
    """No longer; unknown ones are ignored."""
    if sink in _sinks:
        _sinks.remove(sink)


# `with region("load"):` or `@region("load")` marks a span of the program in every recording in progress.
region: Callable[[str], Region] = _regions.__getitem__
