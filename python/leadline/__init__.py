"""leadline: where a Python or PyTorch program is slow, why, and whether a change helped.

The tool is one static executable; this package finds it, and lets a program record itself.

    with leadline.sample() as s:         the sampler, on this process
        work()
    s.print_stats(); s.save("x.lead")

    with leadline.trace() as t:          every call, counted and timed; t is what cProfile.Profile is
        work()
    t.print_stats("cumtime"); t.dump_stats("x.prof"); t.save("x.lead")

    with leadline.lines(f, g) as counted:   every line of some functions; @leadline.lines before one
        work()
    counted.print_stats()

    with leadline.region("load"):        a span that every recording shows, also that of leadline run; costs nothing without one

    leadline.timeit('f(3)', globals=globals())   how long it takes: one line with an interval; float() of it is seconds per loop
    leadline.bench(f).median             the same with the names of %timeit -o; leadline.Timer is timeit.Timer
    print(leadline.compare(f, g))        whether g is faster than f: in blocks, with a control, a verdict in words

    leadline.torch.profile(…)            torch.profiler.profile with leadline's tables; leadline.torch.step(samples=…) for samples/s

    %load_ext leadline                   in IPython and Jupyter: %lead, %%lead, %leadtrace, %leadlines, %leadtime

    python -m leadline time script.py    the same as: leadline time script.py
    python -m leadline -s cumtime script.py   as python -m cProfile
    leadline.find_binary()               where the executable is
"""

import os
from typing import TYPE_CHECKING, Any

from leadline._host import Error
from leadline._region import Region, region
from leadline._sampler import Recorder, Sampler, sample

if TYPE_CHECKING:
    from leadline import torch as torch
    from leadline._bench import Result, Timer, Timing, bench, timeit
    from leadline._binary import BinaryNotFound, find_binary
    from leadline._compare import Comparison, compare
    from leadline._lines import LineCounter, lines
    from leadline._stats import Stats
    from leadline._tracer import Tracer, run, runcall, runctx, trace

    Profile = Tracer
    __version__: str

__all__ = ["BinaryNotFound", "Comparison", "Error", "LineCounter", "Profile", "Recorder", "Region", "Result", "Sampler", "Stats", "Timer", "Timing", "Tracer", "__version__",
           "bench", "compare", "find_binary", "lines", "load_ipython_extension", "region", "run", "runcall", "runctx", "sample", "timeit", "torch", "trace"]

# What only some programs ask for is imported when they do: it would double the time this package takes to import.
_LATER = {"Result": "_bench", "Timer": "_bench", "Timing": "_bench", "bench": "_bench", "timeit": "_bench", "BinaryNotFound": "_binary", "find_binary": "_binary", "Comparison": "_compare", "compare": "_compare", "LineCounter": "_lines", "lines": "_lines", "Stats": "_stats", "Tracer": "_tracer",
          "Profile": "_tracer", "run": "_tracer", "runcall": "_tracer", "runctx": "_tracer", "trace": "_tracer"}


if "LEADLINE_SESSION" in os.environ:
    from leadline._session import join

    join()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from leadline._binary import version

        return version()
    if name == "torch":
        from importlib import import_module

        return import_module("leadline.torch")
    if name not in _LATER:
        raise AttributeError(f"module 'leadline' has no attribute '{name}'")
    from importlib import import_module

    found = getattr(import_module(f"leadline.{_LATER[name]}"), "Tracer" if name == "Profile" else name)
    globals()[name] = found
    return found


def load_ipython_extension(shell: Any) -> None:
    """%load_ext leadline"""
    from leadline._notebook import load

    load(shell)
