"""Line counting in a program that is traced: run by sitecustomize when the session asks for it.

Gets `agent` (the module), `patterns` (separated by commas) and `folder` as its globals. Whatever fails here is nothing to
the program.
"""

import builtins
import os
import sys

_library = os.path.dirname(os.__file__)


def _codes(thing, deep=3):
    """The code objects behind a function, a method, a property, a class or what wraps them."""
    code = getattr(thing, "__code__", None)
    if code is not None:
        yield code
    if isinstance(thing, type) and deep:
        inner = [v for v in vars(thing).values() if hasattr(v, "__code__") or hasattr(v, "__func__") or isinstance(v, property)]
    else:
        inner = [getattr(thing, name, None) for name in ("__func__", "__wrapped__", "func", "fget", "fset", "fdel")]
    for one in inner:
        if one is not None and deep:
            yield from _codes(one, deep - 1)


def profile(function):
    """Counts the lines of a function: the decorator that line_profiler's kernprof gives a program."""
    for code in _codes(function):
        agent.lines_add(code)
    return function


def _functions():
    """Names of the functions and methods of the program's own modules, as patterns name them."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        is_own = file and not file.startswith(_library)
        if not is_own and getattr(module, "__name__", "") != "__main__":  # that one has no file any more
            continue
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if hasattr(value, "__code__"):
                yield module.__name__, name
            elif isinstance(value, type):
                for inner, method in list(vars(value).items()):
                    if any(True for _ in _codes(method)):
                        yield module.__name__, "%s.%s" % (name, inner)


def _explain(pattern):
    """What a pattern that chose nothing may have meant."""
    if agent.lines_replaced():
        return "another trace function was in the way"
    import difflib

    wanted = pattern.rpartition(":")[2]
    known = sorted(set(_functions()))
    same = ["%s:%s" % f for f in known if f[1] == wanted or f[1].endswith("." + wanted)]
    if same:
        return "%s was never called" % same[0]
    tails = {}
    for module, name in known:
        tails.setdefault(name, name)
        tails.setdefault(name.rpartition(".")[2], name)
        tails.setdefault(module, module)
    near = difflib.get_close_matches(wanted, tails, 5, 0.5)
    return "near names: " + ", ".join(dict.fromkeys(tails[n] for n in near)) if near else ""


def _at_exit():
    for i, pattern in enumerate(patterns.replace("\n", ",").split(",")):
        if agent.lines_found(i) == 0:
            try:
                agent.lines_near(i, _explain(pattern))
            except Exception:
                pass


def _begin():
    if agent.lines_start(patterns, _library) is True:
        builtins.profile = profile
        for code in _later:
            agent.lines_add(code)
        return True
    return False


# ---- auto: the tool samples for a moment and then says whose lines it wants

_later = []


def _remember(function):
    """@profile, while the choice is not made: the agent waits for it, and no thread of ours does."""
    _later.extend(_codes(function))
    return function


def _running():
    """The code objects that were chosen and run now: they may never be called again."""
    wanted = {tuple(pattern.rpartition(":")[::2]) for pattern in patterns.split(",")}
    names = {(file, name.rpartition(".")[2]) for file, name in wanted}
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            if (frame.f_code.co_filename, frame.f_code.co_name) in names:
                yield frame.f_code
            frame = frame.f_back


def _is_chosen():
    """Reads the choice; False while there is none."""
    global patterns
    try:
        with open(chosen, encoding="utf-8", errors="surrogateescape") as file:
            patterns = file.read()
    except OSError:
        return False
    return True


def _when_chosen():
    """Called by the agent, at an event of whichever thread first sees that the choice is made."""
    try:
        if _is_chosen() and _begin():
            for code in set(_running()):
                agent.lines_add(code)
    except Exception:
        pass


if patterns == "auto":
    patterns = ""
    chosen = os.environ.get("LEADLINE_SESSION", "") + "/chosen"
    builtins.profile = _remember
    if _is_chosen():
        _begin()
    else:
        agent.lines_wait(chosen, _when_chosen)
elif _begin() and patterns:
    agent.lines_at_end(_at_exit)
