"""Drives torch's own profiler in a program that is recorded: run by sitecustomize when the session asks for it.

Gets `wish` and the names of torch_import and torch_compile as its globals. `wish`: the folder for traces, and when to record, "all" or three numbers of steps (wait, warm up, record). A step ends
when the optimizer first seen has made one. Waits for `import torch`. A profiler of the program's own has precedence: steps under it
do not count, ours begins anew after it where it had recorded no step yet, and ends otherwise. What keeps a trace from being made is told in a note beside where it would be; nothing of it reaches the program.
"""

import sys

_folder, _when = wish.split("\n")[:2]


def _around(module, execute):
    _bootstrap._call_with_frames_removed(execute, module)
    _safely(_begin, module)


class _State:
    pid = 0  # 0: over, also in a forked child
    prof = None  # None: it begins anew when the program's own is over
    is_ours = False  # what is called now is called by us
    optimizer = None  # whose steps count
    n_steps = 0
    n_own = 0  # steps under the program's own profiler
    is_discarded = False  # what is recorded now
    hook = None


_state = _State()


def _note(text):
    import os

    with open("%s/%d.note" % (_folder, os.getpid()), "a", encoding="utf-8", errors="replace") as file:
        file.write(text + "\n")


def _safely(function, *args):
    try:
        return function(*args)
    except Exception as error:
        _state.pid = 0
        try:
            _note("%s: %s" % (type(error).__name__, error))
        except Exception:
            pass
        return None


# ---- the profiler


def _save(prof):
    """When it has recorded all that was asked for, or ends."""
    import os

    if _state.is_discarded or not os.path.isdir(_folder):  # the tool may have gone
        return
    path = "%s/%d.pt.trace.json" % (_folder, os.getpid())
    prof.export_chrome_trace(path + ".tmp")
    os.rename(path + ".tmp", path)


def _call(method, **options):
    """Whatever torch warns of, the program has not asked for it."""
    import warnings

    _state.is_ours = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return method(**options)
    finally:
        _state.is_ours = False


def _tell_compiled():
    told = _compiled()
    if told is not None and _state.prof is not None and _is_enabled():
        _state.prof.add_metadata_json("leadline_compile", told)


def _end():
    """Writes what there is; called at most once in a process."""
    import os

    is_mine = _state.pid == os.getpid()
    _state.pid = 0
    if is_mine:
        _safely(_tell_compiled)
        if _state.hook is not None:
            _state.hook.remove()
        if _state.prof is not None:
            _call(_state.prof.stop)


def _after_step(optimizer, args, kwargs):
    if _state.pid:
        _safely(_count, optimizer)


def _count(optimizer):
    import _thread
    import os

    who = id(optimizer), _thread.get_ident()
    if _state.pid != os.getpid():
        _state.pid = 0
        return
    if _state.optimizer is None:
        _state.optimizer = who
    if _state.optimizer != who:
        return
    if _is_enabled() and not _is_begun():
        _state.n_own += 1
        return
    if _state.prof is None:
        _start()
        return
    _state.n_steps += 1
    _call(_state.prof.step)
    if _state.n_steps >= _last:
        _end()


def _is_begun():
    """Ours is on, were it to warm up."""
    return _state.prof is not None and _state.n_steps >= _first


def _yield_to():
    if not _is_begun():
        return  # it waits, and counts no steps meanwhile
    if _when != "all" and _state.n_steps <= _first + _warm_up:  # none is recorded yet
        _state.is_discarded = True
        _call(_state.prof.stop)
        _state.prof, _state.is_discarded, _state.n_steps = None, False, 0
        return
    _note("the program's own profiler began after %d steps: ours made way for it, and records no more" % _state.n_steps)
    _end()


def _start():
    _state.prof = _call(_profile, schedule=_plan, on_trace_ready=_save, record_shapes=True, profile_memory=True, with_stack=True)
    _call(_state.prof.start)


def _before_own():
    if _state.pid and not _state.is_ours:
        _safely(_yield_to)


def _wrap(module, name):
    """What a profiler of the program's own calls when it begins."""
    old = getattr(module, name, None)
    if old is None:
        return

    def begin(*args, **kwargs):
        _before_own()
        return old(*args, **kwargs)

    begin.__name__ = name
    setattr(module, name, begin)


def _begin(torch):
    import atexit
    import os

    global _first, _warm_up, _last, _is_enabled, _profile, _plan
    version = str(getattr(torch, "__version__", "?"))
    if not hasattr(getattr(torch, "profiler", None), "schedule"):
        return _note("torch %s has no profiler of this kind, which came with 1.8.1" % version)
    from torch.optim import optimizer

    register = getattr(optimizer, "register_optimizer_step_post_hook", None)
    if _when == "all":
        _plan, _first, _warm_up, _last = None, 0, 0, sys.maxsize
    else:
        _first, _warm_up, active = map(int, _when.split())
        _plan = _call(torch.profiler.schedule, wait=_first, warmup=_warm_up, active=active, repeat=1)
        _last = _first + _warm_up + active
        if register is None:
            return _note("torch %s does not tell when an optimizer steps: --torch=full:all records all of the run" % version)
    _is_enabled = torch.autograd._profiler_enabled
    _profile = torch.profiler.profile
    _wrap(torch.autograd.profiler, "_prepare_profiler")
    _wrap(torch.autograd.profiler, "_enable_profiler")
    _state.pid = os.getpid()
    atexit.register(_safely, _at_exit)
    _start()
    if _when != "all":
        _state.hook = register(_after_step)
    return None


def _at_exit():
    import os

    if _state.pid == os.getpid() and _when != "all":
        if _state.n_steps <= _first:
            own = ", not counting %d under the program's own profiler" % _state.n_own if _state.n_own else ""
            _note("the optimizer made %d steps%s, and recording begins after %d: --torch=full:all records all of the run" % (_state.n_steps, own, _first))
    _end()


sys.meta_path.insert(0, _Finder(_around))
