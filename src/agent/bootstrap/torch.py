"""Operators of PyTorch in a program that is recorded: run by sitecustomize when the session asks for it.

Gets `agent` (the module), `library` (its path) and the names of torch_import, torch_compile and torch_modules as its globals. Waits for `import torch`, lets torch load the agent as its
collector of ITT ranges, and switches these on: in the thread that imports it, in the main thread and in threads made later.
While the program's own profiler is on in a thread, ours is off there, since torch allows one. Whatever fails here is nothing
to the program.
"""

import atexit
import sys

import _thread


def _around(module, execute):
    is_named = agent.torch_load(library)
    try:
        _bootstrap._call_with_frames_removed(execute, module)
        _begin_safely(module, is_named)
    finally:
        if is_named:
            agent.torch_load(None)


# ---- on and off, thread by thread


class _State(_thread._local):
    is_on = False  # ours
    n_own = 0  # profilers of the program's that are on
    since = None  # when ours was switched off for them
    compiling = None  # since when torch.compile does
    scripting = None  # since when torch.jit does
    n_scripting = 0  # within each other


_state = _State()


def _switch_on():
    if not _state.is_on and not _state.n_own:
        _enable(*_arguments)
        _state.is_on = True


def _switch_off(_=None):
    """Also before a thread or the interpreter ends: torch warns of ranges that were left on."""
    if _state.is_on:
        _disable()
        _state.is_on = False


def _before_enable():
    if _state.is_on:
        _state.since = agent.torch_now()
    _switch_off()


def _after_enable(is_done):
    if is_done:
        _state.n_own += 1
        if _state.n_own == 1 and "ITT" in str(_type()):
            _state.since = None  # what the program's own ranges tell comes to us as well
    elif not _state.n_own:
        _state.since = None
        _switch_on()


def _before_disable():
    if not _state.n_own:
        _switch_off()  # the program ends what it did not begin: torch shall say so


def _after_disable(is_done):
    if is_done and _state.n_own:
        _state.n_own -= 1
    if not _state.n_own:
        _switch_on()
        agent.torch_gap(_state.since)
        _state.since = None


# ---- torch.compile, whose own spans are for torch's profilers alone


def _compile_begins(*_):
    _state.compiling = agent.torch_now()


def _compile_ends(*args):
    since, _state.compiling = _state.compiling, None
    if since is None or not _state.is_on:
        return
    try:
        kind = "backward" if "BACKWARD" in str(args[0].callback_trigger) else "frame"
        number = " compile_id=%.20s" % args[0].compile_id
    except Exception:
        kind, number = "frame", ""  # older ones tell nothing
    agent.torch_span(since, "entire_%s_compile%s (dynamo_timed)" % (kind, number))


def _around_callbacks(module, execute):
    _bootstrap._call_with_frames_removed(execute, module)
    try:
        module.callback_handler.register_start_callback(_compile_begins)
        module.callback_handler.register_end_callback(_compile_ends)
    except Exception:
        pass  # older ones have none: their spans are not seen


# ---- torch.jit


def _script_begins():
    if not _state.n_scripting:
        _state.scripting = agent.torch_now()
    _state.n_scripting += 1


def _script_ends(name):
    _state.n_scripting -= 1
    if not _state.n_scripting and _state.is_on:
        agent.torch_span(_state.scripting, "torch.jit.%s (compile)" % name)


def _wrap_scripting(jit):
    """Some of them look at the frame of their caller, which a wrapper written in C leaves where it is."""
    modules = [module for name, module in list(sys.modules.items()) if name == "torch.jit" or name.startswith("torch.jit._")]
    for name in ("script", "trace", "trace_module", "freeze", "optimize_for_inference"):
        old = getattr(jit, name, None)
        if old is not None:
            _replace(old, agent.around(old, _script_begins, lambda is_done, name=name: _script_ends(name)), *modules)


def _watch_modules(torch):
    global _placer
    _placer = _Placer(torch.nn.Module)
    agent.torch_watch_modules(_placer.type, _placer.place_running)


def _at_exit():
    _switch_off()
    if _placer is not None:
        _placer.forget()
    try:
        agent.torch_compiled(_compiled())
    except Exception:
        pass


# ---- what it costs


def _mix(torch, x):
    """Operators of all sorts, in each other and from several lines; none that uses more than one thread."""
    y = x.view(64).unsqueeze(0)
    z = y.transpose(0, 1).select(1, 0) + 1.0
    z = torch.sigmoid(z * y.squeeze(0)).chunk(4)[1]
    z.add_(1.0).mul_(0.5)
    return z.sum(), x[3].expand(2, 8).reshape(16)


def _measure(torch):
    """Nanoseconds that a range costs: the same operators with ranges and without, by turns. What a program computes takes the place of
    all this in the CPU's caches, so each mix finds them as full of something else."""
    import time

    costs, full, other = [], bytearray(_CACHE_BYTES), bytes(_CACHE_BYTES)
    _switch_off()
    with torch.no_grad():
        x = torch.ones(8, 8)
        for turn in range(_TURNS):
            times, n = [], 0
            for switch in (_switch_off, _switch_on) if turn % 2 else (_switch_on, _switch_off):
                switch()
                agent.torch_rehearse()
                took = 0
                for _ in range(_REPEATS):
                    full[:] = other
                    begun = time.thread_time_ns()
                    _mix(torch, x)
                    took += time.thread_time_ns() - begun
                times.append(took)
                n += agent.torch_rehearsed()
            if turn > 1 and n:  # the first ones meet everything for the first time
                costs.append((times[1] - times[0] if turn % 2 else times[0] - times[1]) / n)
    costs.sort()
    cost = costs[len(costs) // 2] if costs else 0
    if cost > 0:
        agent.torch_cost(int(cost))


_TURNS, _REPEATS, _CACHE_BYTES = 32, 4, 1 << 19


# ---- once, after torch was imported


def _take_arguments(profiler):
    """What this version of torch switches ITT on with: emit_itt tells, without doing it."""
    taken = []
    names = {"_enable_profiler": lambda *words: taken.append(words), "_run_on_profiler_start": lambda: None}
    former = {name: getattr(profiler, name) for name in names if hasattr(profiler, name)}
    try:
        for name in former:
            setattr(profiler, name, names[name])
        profiler.emit_itt().__enter__()
    finally:
        for name, value in former.items():
            setattr(profiler, name, value)
    return taken[0]


def _scopes(native):
    """The kinds of ranges that are operators, autograd's nodes, torch.jit's functions and the program's own: each further kind costs every node of autograd,
    which sets them all up anew. Nothing where this torch does not let one choose."""
    try:
        kinds = native._profiler.RecordScope
        if "scopes" in native._autograd._enable_profiler.__doc__:
            return ({getattr(kinds, name) for name in ("FUNCTION", "BACKWARD_FUNCTION", "TORCHSCRIPT_FUNCTION", "USER_SCOPE")},)
    except Exception:
        pass
    return ()


def _replace(old, new, *modules):
    for module in modules:
        for name, value in list(vars(module).items()):
            if value is old:
                setattr(module, name, new)


def _wrap_profilers(torch, profiler, native):
    """The program's own profilers, wherever torch keeps the functions that switch them."""
    for kind, before, after in (("enable", _before_enable, _after_enable), ("disable", _before_disable, _after_disable)):
        for name in ("_%s_profiler" % kind, "_%s_profiler_legacy" % kind):
            old = getattr(native, name, None)
            if old is not None:
                _replace(old, agent.around(old, before, after), profiler, native, torch.autograd)


def _is_profiled():
    """As torch's _profiler_enabled: ours is none of the program's."""
    return _is_enabled() and not _state.is_on


def _wrap_threads():
    modules = [_thread] + [sys.modules[name] for name in ("threading",) if name in sys.modules]
    for name in ("start_new_thread", "start_joinable_thread"):
        old = getattr(_thread, name, None)
        if old is not None:
            _replace(old, agent.around_thread(old, _switch_on, _switch_off), *modules)


def _begin(torch, is_named):
    global _arguments, _enable, _disable, _type, _is_enabled
    version = str(getattr(torch, "__version__", "?"))
    if not is_named:
        return agent.torch_state(False, "INTEL_LIBITTNOTIFY64 names another collector already: unset it", 0)
    profiler = getattr(torch.autograd, "profiler", None)
    if not hasattr(profiler, "emit_itt"):
        return agent.torch_state(False, "torch %s has no ITT ranges; they came with 1.13" % version, 0)
    ranges = getattr(torch._C, "_itt", None)
    if ranges and ranges.is_available():
        ranges.rangePush("")  # the first range makes torch look for its collector
        ranges.rangePop()
    if not ranges or not agent.torch_open(torch.__file__.rpartition("/")[0], _switch_off):
        return agent.torch_state(False, "this build of torch %s has no ITT ranges; --torch=full does not need them" % version, 0)
    native = torch._C._autograd
    _arguments = _take_arguments(profiler)
    if len(_arguments) == 2:  # a configuration and what to watch; torch means all scopes
        _arguments += _scopes(torch._C)
    _enable, _disable, _type = native._enable_profiler, native._disable_profiler, native._profiler_type
    _is_enabled = native._profiler_enabled
    _replace(_is_enabled, _is_profiled, native, torch.autograd)
    unseen = len(sys._current_frames()) - 1
    _wrap_profilers(torch, profiler, native)
    _wrap_threads()
    if hasattr(torch, "jit"):
        _wrap_scripting(torch.jit)
    if hasattr(torch, "nn"):
        _watch_modules(torch)
    _switch_on()
    _measure_safely(torch)
    sys.meta_path.insert(0, _Finder(_around_callbacks, "torch._dynamo.callback"))
    atexit.register(_at_exit)
    if _thread.get_ident() != _main:
        unseen -= agent.torch_in_main(_switch_on)
    return agent.torch_state(True, version, max(unseen, 0))


def _measure_safely(torch):
    """Without it the cost is not known."""
    try:
        _measure(torch)
    except Exception:
        pass
    finally:
        agent.torch_rehearsed()
        _switch_on()


def _begin_safely(torch, is_named):
    try:
        _begin(torch, is_named)
    except Exception as error:
        agent.torch_state(False, "%s: %s" % (type(error).__name__, error), 0)


_main = _thread.get_ident()
_placer = None  # of modules
sys.meta_path.insert(0, _Finder(_around))
