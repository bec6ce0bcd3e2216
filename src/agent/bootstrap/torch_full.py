"""Drives torch's own profiler in a program that is recorded: run by sitecustomize when the session asks for it.

Gets `wish` and the names of torch_import, torch_compile and torch_lines as its globals. `wish`: the folder for traces, and when to record, "all" or three numbers of steps (wait, warm up, record). A step ends
when the optimizer first seen has made one. Waits for `import torch`. A profiler of the program's own has precedence: steps under it
do not count, ours begins anew after it where it had recorded no step yet, and ends otherwise. All threads are recorded where there are several and torch can do that,
else a note names those that were not. What keeps a trace from being made is told in a note beside where it would be; nothing of it reaches the program.
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
    due = None  # the one whose step counts as soon as torch's range of it has ended
    n_steps = 0
    n_own = 0  # steps under the program's own profiler
    is_discarded = False  # what is recorded now
    hook = None
    owner = 0  # the thread our profiler began in
    n_parts = 0  # traces begun
    is_wide = False  # all threads are recorded
    unseen = []  # names of threads not recorded


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
    path = "%s/%d%s.pt.trace.json" % (_folder, os.getpid(), ".then" if _state.n_parts > 1 and _when == "all" else "")
    prof.export_chrome_trace(path + ".tmp")
    try:
        _join_lines(prof, path + ".tmp")
    except Exception:
        pass  # the trace does without
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
    if told is not None and _state.prof is not None and _is_begun():
        _state.prof.add_metadata_json("leadline_compile", told)


def _end():
    """Writes what there is; called at most once in a process."""
    import os

    is_mine = _state.pid == os.getpid()
    _state.pid = 0
    if is_mine:
        if _state.n_steps < _last:
            _safely(_tell_compiled)
        _safely(_tell_threads)
        if _state.hook is not None:
            _state.hook.remove()
        if _state.prof is not None:
            _call(_state.prof.stop)


# ---- steps: torch calls its hooks within its range of the optimizer, which is to end before a step of ours does


def _after_step(optimizer, args, kwargs):
    if _state.pid:
        _safely(_expect_end, optimizer)


def _expect_end(optimizer):
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
    _count_due()  # the one before had no range
    if _state.pid:
        _state.due = who


def _watch_ends():
    """Before any range begins: Python looks up then what is to be called when it ends."""
    import _thread

    kind = _record_function
    leave = kind.__exit__

    def ended(self, *args):
        result = leave(self, *args)
        if _state.due is not None and _state.due[1] == _thread.get_ident() and str(getattr(self, "name", "")).startswith("Optimizer.step#") and _state.pid:
            _safely(_count_due)
        return result

    ended.__name__ = ended.__qualname__ = "__exit__"
    kind.__exit__ = ended


def _count_due():
    if _state.due is not None:
        _state.due = None
        _count()


def _count():
    import os

    if _state.pid != os.getpid():
        _state.pid = 0
        return
    if _is_enabled() and not _is_begun():
        _state.n_own += 1
        return
    if _state.prof is None:
        _start()
        return
    _state.n_steps += 1
    if _state.n_steps == _first:
        _choose_threads()
    if _state.n_steps == _last:
        _safely(_tell_compiled)  # the step saves the trace
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
    _note("the program started a profiler of its own after %d steps, so leadline's stopped there" % _state.n_steps)
    _end()


# ---- threads: torch records memory in the thread that began, or operators in all threads, but not both


_HELPERS = ("multiprocessing.queues", "torch.utils.data.", "torch._inductor.", "torch._dynamo.", "torch.distributed.", "tqdm.", "concurrent.futures.process")


def _is_helper(thread):
    """Its operators, if any, are nobody's but the library's that made it."""
    target = getattr(thread, "_target", None)
    module = getattr(target, "__module__", None) or type(thread).__module__
    return str(module).startswith(_HELPERS)


def _others():
    import threading

    mine = threading.current_thread()
    return [thread for thread in threading.enumerate() if thread is not mine and not _is_helper(thread)]


def _of_all_threads():
    """What makes torch's profiler watch them; None where it cannot."""
    try:
        from torch.profiler import _ExperimentalConfig

        return _ExperimentalConfig(profile_all_threads=True)
    except (ImportError, TypeError):
        return None


def _choose_threads():
    """Before torch's part begins: of all threads where there are others."""
    others = _others()
    config = _of_all_threads() if others else None
    if config is None:
        _state.unseen += [thread.name for thread in others]
    else:
        _widen(config)


def _widen(config):
    _state.is_wide = True
    _state.prof.experimental_config = config
    _state.prof.profile_memory = False


def _thread_begins(thread):
    """By `thread`, before it runs."""
    import _thread
    import os

    if _state.pid != os.getpid() or _state.is_wide or _is_helper(thread):
        return
    if _when == "all" and _state.prof is not None and _state.owner == _thread.get_ident() and _of_all_threads() is not None:
        _call(_state.prof.stop)  # what it has becomes a part of its own
        _begin_part(_of_all_threads())
    elif _is_begun():
        _state.unseen.append(thread.name)


def _begin_part(config):
    import _thread

    _state.n_parts += 1
    _state.owner = _thread.get_ident()
    _state.prof = _call(_profile, schedule=_plan, on_trace_ready=_save, record_shapes=True, profile_memory=True, with_stack=True)
    _state.is_wide = False
    if config is not None:
        _widen(config)
    elif _first == 0:
        _choose_threads()
    _call(_state.prof.start)


def _start():
    _begin_part(None)


def _tell_threads():
    if _state.is_wide:
        _note("memory was not recorded%s, because torch records the memory of one thread, or the operators of all" % (
            " from when the first thread was started" if _state.n_parts > 1 else ""))
    if _state.unseen:
        names = ", ".join(_state.unseen[:3]) + (", …" if len(_state.unseen) > 3 else "")
        _note("not seen in %d thread%s (%s): %s" % (
            len(_state.unseen), "" if len(_state.unseen) == 1 else "s", names,
            "torch %s records one thread; --torch without =full sees all" % _version if _of_all_threads() is None
            else "started while recording; --torch=full:all sees all"))


def _watch_threads():
    import threading

    start = threading.Thread.start

    def watched(self):
        _safely(_thread_begins, self)
        return start(self)

    watched.__name__ = watched.__qualname__ = "start"
    threading.Thread.start = watched


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

    global _first, _warm_up, _last, _is_enabled, _profile, _plan, _record_function, _version
    version = _version = str(getattr(torch, "__version__", "?"))
    if not hasattr(getattr(torch, "profiler", None), "schedule"):
        return _note("torch %s has no such profiler; it came with 1.8.1" % version)
    from torch.optim import optimizer

    register = getattr(optimizer, "register_optimizer_step_post_hook", None)
    if _when == "all":
        _plan, _first, _warm_up, _last = None, 0, 0, sys.maxsize
    else:
        _first, _warm_up, active = map(int, _when.split())
        _plan = _call(torch.profiler.schedule, wait=_first, warmup=_warm_up, active=active, repeat=1)
        _last = _first + _warm_up + active
        if register is None:
            return _note("torch %s does not report optimizer steps: --torch=full:all records the whole run" % version)
    _is_enabled = torch.autograd._profiler_enabled
    _profile = torch.profiler.profile
    _record_function = torch.autograd.profiler.record_function
    _wrap(torch.autograd.profiler, "_prepare_profiler")
    _wrap(torch.autograd.profiler, "_enable_profiler")
    _state.pid = os.getpid()
    atexit.register(_safely, _at_exit)
    _watch_threads()
    _start()
    if _when != "all":
        _watch_ends()
        _state.hook = register(_after_step)
    return None


def _at_exit():
    import os

    if _state.pid == os.getpid() and _when != "all":
        _count_due()
        if _state.n_steps <= _first + _warm_up:
            _state.is_discarded = True  # what follows the last step is none
            own = ", not counting %d under the program's own profiler" % _state.n_own if _state.n_own else ""
            _note("the optimizer made %d steps%s, and recording begins after %d: --torch=full:all records the whole run" % (_state.n_steps, own, _first + _warm_up))
    _end()


sys.meta_path.insert(0, _Finder(_around))
