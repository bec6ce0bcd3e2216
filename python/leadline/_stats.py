"""Statistics in the form of pstats, which every Python has: what programs written for cProfile take in."""

import pstats
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

Function = Tuple[str, int, str]  # file, line, name; ("~", 0, "<built-in …>") for C functions
Row = Tuple[int, int, float, float, Dict[Function, Tuple[int, int, float, float]]]

BUILTIN_FILE = "~"


class Stats(pstats.Stats, Dict[Function, Row]):
    """A pstats.Stats that is also the dict cProfile.Profile has as its `stats`."""

    def __init__(self, rows: Dict[Function, Row]) -> None:
        dict.__init__(self, rows)
        pstats.Stats.__init__(self, _Rows(rows))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<leadline.Stats of {len(self)} functions>"

    __hash__ = object.__hash__  # type: ignore[assignment]


class _Rows:
    """What pstats.Stats takes from a profiler."""

    def __init__(self, rows: Dict[Function, Row]) -> None:
        self.stats = dict(rows)

    def create_stats(self) -> None:
        """They are there already."""


def add(one: Dict[Function, Row], other: Dict[Function, Row]) -> Dict[Function, Row]:
    """Both together, as pstats adds files."""
    if not one or not other:
        return dict(one or other)
    total = Stats(one)
    total.add(Stats(other))
    rows: Dict[Function, Row] = total.stats  # type: ignore[attr-defined]
    return rows


def clean(rows: Dict[Function, Row], with_builtins: bool) -> Dict[Function, Row]:
    """Without functions that ran all the time and were never called, and if asked for without C functions."""
    kept = {f: row for f, row in rows.items() if row[1]}
    if not with_builtins:
        kept = _without_builtins(kept)
    return {f: (cc, nc, tt, ct, {c: v for c, v in callers.items() if c in kept})
            for f, (cc, nc, tt, ct, callers) in kept.items()}


def _without_builtins(rows: Dict[Function, Row]) -> Dict[Function, Row]:
    """A C function's time becomes its caller's own, as if it had not been looked at.

    So does what it called, where it had one caller; of several it is not known which it was.
    """
    kept: Dict[Function, Row] = {}
    for function, (cc, nc, tt, ct, callers) in rows.items():
        if function[0] != BUILTIN_FILE:
            kept[function] = (cc, nc, tt, ct, dict(callers))
    for function, row in rows.items():
        if function[0] != BUILTIN_FILE:
            continue
        for caller, (_, _, own, _) in row[4].items():
            if caller in kept:
                cc, nc, tt, ct, callers = kept[caller]
                kept[caller] = (cc, nc, tt + own, ct, callers)
        for _, _, _, _, callers in kept.values():
            if function in callers and len(row[4]) == 1:
                caller = next(iter(row[4]))
                before = callers.get(caller, (0, 0, 0.0, 0.0))
                callers[caller] = tuple(map(sum, zip(before, callers[function])))  # type: ignore[assignment]
    return kept


class Code(NamedTuple):
    """Names a Python function as its code object does."""

    co_filename: str
    co_firstlineno: int
    co_name: str


class Subentry(NamedTuple):
    """Calls of one function by another, as cProfile.Profile.getstats() tells them."""

    code: Union[Code, str]
    callcount: int
    reccallcount: int
    totaltime: float
    inlinetime: float


class Entry(NamedTuple):
    """A function, as cProfile.Profile.getstats() tells it."""

    code: Union[Code, str]
    callcount: int
    reccallcount: int
    totaltime: float
    inlinetime: float
    calls: Optional[List[Subentry]]


def entries(rows: Dict[Function, Row]) -> List[Entry]:
    """The same as a list, with what each function calls instead of who calls it."""
    callees: Dict[Function, List[Subentry]] = {}
    for function, row in rows.items():
        for caller, (nc, cc, tt, ct) in row[4].items():
            callees.setdefault(caller, []).append(Subentry(_code(function), nc, nc - cc, ct, tt))
    return [Entry(_code(f), nc, nc - cc, ct, tt, callees.get(f)) for f, (cc, nc, tt, ct, _) in rows.items()]


def _code(function: Function) -> Union[Code, str]:
    return function[2] if function[0] == BUILTIN_FILE else Code(*function)


def sort_key(text: str) -> Any:
    """What pstats sorts by, as given on a command line. Raises ValueError, which lists the keys, for what is none."""
    keys = set(pstats.Stats.sort_arg_dict_default) | {"-1", "0", "1", "2"}
    if text not in keys:
        raise ValueError(f"there is no sort key '{text}'; there are: {', '.join(sorted(keys))}")
    return int(text) if text.lstrip("-").isdigit() else text


def printed(stats: pstats.Stats, sort: Any, strip: bool = True) -> None:
    """As cProfile.Profile.print_stats does it."""
    keys = sort if isinstance(sort, tuple) else (sort,)
    if strip:
        stats.strip_dirs()
    stats.sort_stats(*keys).print_stats()
