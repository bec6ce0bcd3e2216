"""Runs inside the interpreter that is measured: times one statement batch by batch and tells each as a line of JSON.

Started as `python -c TEXT JOB_FD ANSWER_FD`. The job is one JSON object, the answers are objects of one key each. The
loop is timeit's (same instructions around the statement), but the set-up runs once for all batches of a process, so
that a dear one does not take the time that the measuring needs. With `exact` it is timeit itself.
"""
import gc
import itertools
import json
import os
import resource
import sys
import time
import timeit
import traceback
import types

TEMPLATE = """
def inner(_batches, _timer, _record, _inspect, _watch):
    {setup}
    {watch}
    for _it in _batches:
        _t0 = _timer()
        for _i in _it:
            {stmt}
            pass
        _record(_timer() - _t0)
    {watch}
{inspect}
"""


class Failed(Exception):
    """The user's code failed; what there is to say was printed."""


def indented(text, blanks):
    return text.replace("\n", "\n" + " " * blanks)


def parsed(text, name, mode="exec"):
    try:
        return compile(text, "<" + name + ">", mode)
    except SyntaxError:
        kind, value, _ = sys.exc_info()
        sys.stderr.write("".join(traceback.format_exception_only(kind, value)))
        raise Failed("the %s is not valid Python" % name)


def is_expression(text):
    try:
        compile("(\n" + text + "\n)", "<statement>", "eval")
        return True
    except SyntaxError:
        return False


def rebound(setup, stmt):
    """Names of the set-up that the statement uses and then binds anew: each loop works on the result of the last."""
    import dis

    def names(text, prefix):
        return {i.argval for i in dis.get_instructions(text) if i.opname.startswith(prefix)}

    return sorted(names(setup, "STORE_NAME") & names(stmt, "STORE_NAME") & names(stmt, "LOAD_NAME"))


def state_of(value):
    """What a value that is fed back to itself may drift to: (a word for it, its size)."""
    if isinstance(value, int):
        return "0" if value == 0 else "", value.bit_length()
    for name in "numpy", "torch":
        module = sys.modules.get(name)
        if module and isinstance(value, getattr(module, "ndarray", getattr(module, "Tensor", ()))):
            parts = value[value != 0]
            finite = module.isfinite(parts)
            return "0" if not len(parts) else "" if finite.all() else "inf or nan", len(value.reshape(-1))
    if isinstance(value, (float, complex)):
        return "0" if value == 0 else "" if abs(value) < float("inf") else "inf or nan", 1
    return "", len(value)


class Watch:
    """Looks at the names that the statement binds anew before the first loop and after the last."""

    def __init__(self):
        self.first, self.text = None, ""

    def __call__(self, **values):
        states = {}
        for name, value in values.items():
            try:
                states[name] = state_of(value)
            except Exception:
                pass  # it has neither size nor value that can be asked for
        if self.first is None:
            self.first = states
            return
        told = []
        for name, (word, size) in states.items():
            before, size_before = self.first.get(name, (word, size))
            if word != before:
                told.append("%s had become %s" % (name, word or "another value than " + before))
            elif size > 4 * size_before + 64:
                told.append("%s had grown from %d to %d %s" % (name, size_before, size, "bits" if isinstance(values[name], int) else "items"))
        self.text = " and ".join(told)


def kind_of(result):
    """What a statement that seems fast may not have computed yet."""
    if isinstance(result, types.GeneratorType):
        return "generator"
    if isinstance(result, (types.CoroutineType, types.AsyncGeneratorType)):
        if hasattr(result, "close"):
            result.close()
        return "coroutine"
    if isinstance(result, (map, filter, zip, enumerate, reversed, itertools.chain, itertools.islice)):
        return "lazy " + type(result).__name__
    if getattr(result, "is_cuda", False) is True:
        return "CUDA tensor"
    return ""


def value_of(result):
    """A text that is equal for equal results, and shows them where it is short; "" where there is nothing to compare."""
    import re

    if result is None or kind_of(result):
        return ""
    if hasattr(result, "detach") and hasattr(result, "cpu"):
        result = result.detach().cpu().numpy()
    if hasattr(result, "tobytes") and hasattr(result, "dtype") and hasattr(result, "shape"):
        text = "%s%s %s" % (result.dtype, tuple(result.shape), result.tobytes().hex())
    else:
        text = repr(result)
        if re.search(r" at 0x[0-9a-fA-F]+>", text):
            return ""
    if len(text) > 100:
        import hashlib
        return "%s… sha256 %s" % (text[:80], hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())
    return text


class Answers:
    def __init__(self, fd):
        self.file = os.fdopen(fd, "w", buffering=1)

    def tell(self, **answer):
        self.file.write(json.dumps(answer) + "\n")


def resolve(job):
    """`module:function` as a statement and its set-up."""
    import importlib
    import inspect

    module, _, name = job["function"].partition(":")
    sys.path.insert(0, os.curdir)
    try:
        function = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except Exception:
        traceback.print_exc(limit=0)
        raise Failed("%s cannot be imported" % job["function"])
    try:
        inspect.signature(function).bind(*filter(None, [job["arguments"]]))
    except TypeError as e:
        sys.stderr.write("%s needs arguments (%s): bench a statement that gives them, with -s 'from %s import %s'\n"
                         % (job["function"], e, module, name.split(".")[0]))
        raise Failed("%s cannot be called" % job["function"])
    except ValueError:
        pass  # some builtins do not tell their arguments
    job["setup"] = job["setup"] + "\nfrom %s import %s" % (module, name.split(".")[0])
    job["stmt"] = "%s(%s)" % (name, job["arguments"])


def synced(clock):
    """A clock that waits for the device first. Clocks are read before and after a batch, so the device is waited for once per batch: what
    the calls of a batch queue up may overlap, as it does in a program."""
    try:
        import torch
    except ImportError as e:
        raise Failed("--sync torch: torch cannot be imported here (%s)" % e)
    if not torch.cuda.is_available():
        raise Failed("--sync torch: torch sees no GPU here; without --sync the CPU's part is timed")
    wait = torch.cuda.synchronize

    def read():
        wait()
        return clock()

    return read


def usage():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_nivcsw, u.ru_minflt, u.ru_majflt, u.ru_utime, u.ru_stime


class Measuring:
    """The batches of one process: the first call alone, loops found as timeit does, then what was asked for.

    A first call may be slow for reasons of its own (a compiler, a cache), and so may be the next ones: batches that turn out much shorter
    than they should be are warm-up, and more loops are looked for. The loops told last are those of the batches told after them."""

    def __init__(self, job, answers, n_batches):
        self.job, self.answers, self.n_batches, self.seconds, self.loops = job, answers, n_batches, 0.0, 0

    def record(self, seconds):
        self.seconds = seconds

    def batches(self):
        job, done, is_found = self.job, 0, self.job["loops"] > 0
        more = iter([job["loops"]] if is_found else [a * 10 ** b for b in range(12) for a in (1, 2, 5)])
        yield itertools.repeat(None, 1)
        self.answers.tell(first=self.seconds)
        started, self.loops = time.perf_counter(), next(more)
        if is_found:
            self.answers.tell(loops=self.loops)
        while done < self.n_batches or not is_found:
            before = usage()
            yield itertools.repeat(None, self.loops)
            used = [b - a for a, b in zip(before, usage())]
            was_found, is_long = is_found, self.seconds >= job["batch_s"]
            longer = 0 if is_long or (was_found and self.seconds * 2 >= job["batch_s"]) else next(more, 0)
            if longer:
                self.loops, done, is_found = longer, 0, False
                continue
            if not was_found:
                is_found = True
                self.answers.tell(loops=self.loops)
                if self.loops > 1:
                    continue  # it was lengthened on the way here: batches begin with the next one
            if done < self.n_batches:
                self.answers.tell(batch=[self.seconds / self.loops] + used)
            done += 1
            if done >= job["least_batches"] and time.perf_counter() - started > job["budget_s"]:
                break


def compiled(job, watched):
    """The function with timeit's loop in it."""
    inspect = "    _inspect(\n%s\n    )" % job["stmt"] if is_expression(job["stmt"]) else "    pass"
    text = TEMPLATE.format(setup=indented(job["setup"] or "pass", 4), stmt=indented(job["stmt"], 12), inspect=inspect,
                           watch="_watch(%s)" % ", ".join("%s=%s" % (name, name) for name in watched))
    name = "<leadline bench>"
    space = {}
    exec(compile(text, name, "exec"), space)
    import linecache
    linecache.cache[name] = (len(text), None, text.split("\n"), name)
    return space["inner"]


def guarded(run, *arguments):
    try:
        run(*arguments)
    except (Exception, KeyboardInterrupt):
        kind, value, trace = sys.exc_info()
        traceback.print_exception(kind, value, trace.tb_next)  # without our own frame
        raise Failed("the statement failed")


def measure(job, answers, timer, watched):
    m = Measuring(job, answers, 0 if job["threads"] else job["batches"])
    found = []
    inner = compiled(job, watched)
    watch = Watch()

    def inspect(result):
        if job["wants_result"]:
            answers.tell(result=value_of(result))
        found.append(kind_of(result))

    guarded(inner, m.batches(), timer, m.record, inspect, watch)
    if watch.text:
        answers.tell(drift=watch.text)
    if job["threads"]:
        Crowd(job, answers, m.loops, timer).run(inner)
    return found[0] if found else ""


class Crowd:
    """Several threads run the same batch at the same time, each with a set-up of its own; a batch lasts from the first start to
    the last end. Between batches all of them wait for each other."""

    def __init__(self, job, answers, loops, read):
        import threading

        n = job["threads"]
        self.job, self.answers, self.loops, self.read = job, answers, loops, read
        self.threading, self.clocks = threading, [[] for _ in range(n)]
        self.start, self.end = threading.Barrier(n, self.begin), threading.Barrier(n, self.tell)
        self.done, self.n_batches, self.started, self.failed = False, 0, time.perf_counter(), []

    def begin(self):
        self.before = usage()
        for clock in self.clocks:
            del clock[:]

    def tell(self):
        used = [b - a for a, b in zip(self.before, usage())]
        wall = max(c[-1] for c in self.clocks) - min(c[0] for c in self.clocks)
        self.answers.tell(batch=[wall / self.loops / len(self.clocks)] + used)
        self.n_batches += 1
        late = time.perf_counter() - self.started > self.job["budget_s"]
        self.done = self.n_batches >= self.job["batches"] or (late and self.n_batches >= self.job["least_batches"])

    def batches(self):
        yield itertools.repeat(None, 1)
        while not self.done:
            self.start.wait()
            yield itertools.repeat(None, self.loops)
            self.end.wait()

    def one(self, inner, clock):
        def timer():
            clock.append(self.read())
            return clock[-1]

        try:
            guarded(inner, self.batches(), timer, lambda seconds: None, lambda result: None, lambda **values: None)
        except Failed as e:
            self.failed.append(e)
            self.start.abort()
            self.end.abort()
        except self.threading.BrokenBarrierError:
            pass

    def run(self, inner):
        threads = [self.threading.Thread(target=self.one, args=(inner, clock)) for clock in self.clocks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failed:
            raise self.failed[0]


def exact(job, answers, timer, _):
    """timeit itself: the set-up runs before each repetition."""
    t = timeit.Timer(job["stmt"], job["setup"] or "pass", timer)
    try:
        loops = job["loops"] or t.autorange()[0]
        answers.tell(loops=loops)
        for _ in range(job["batches"]):
            before = usage()
            seconds = t.timeit(loops)
            answers.tell(batch=[seconds / loops] + [b - a for a, b in zip(before, usage())])
    except (Exception, KeyboardInterrupt):
        t.print_exc()
        raise Failed("the statement failed")
    return ""


def main():
    job_fd, answer_fd = map(int, sys.argv[1:3])
    sys.argv[1:] = []
    with os.fdopen(job_fd) as f:
        job = json.load(f)
    answers = Answers(answer_fd)
    timer = time.process_time if job["process_time"] else time.perf_counter
    try:
        if job["function"]:
            resolve(job)
        setup, stmt = parsed(job["setup"], "set-up"), parsed(job["stmt"], "statement")
        names = rebound(setup, stmt)
        answers.tell(python="%s %s" % (sys.implementation.name, sys.version.split()[0]), rebinds=names)
        answers.tell(gil=getattr(sys, "_is_gil_enabled", lambda: True)())
        if not job["gc"]:
            gc.disable()
        if job["sync_torch"]:
            timer = synced(timer)
        kind = (exact if job["exact"] else measure)(job, answers, timer, names)
        if job["sync_torch"] and kind == "CUDA tensor":
            kind = ""  # it was waited for
    except Failed as e:
        answers.tell(failed=str(e))
        sys.exit(1)
    answers.tell(kind=kind, max_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


main()
