"""Counts the calls of a program in pure Python: oracle.py PROGRAM

Prints, last on stdout, a JSON list of [caller, callee, calls, resumptions], where a function is [file, first line, name]
and a C function ["", 0, name]. Its own way of looking is sys.monitoring from 3.12 on, sys.setprofile before; then calls
and resumptions cannot be told apart and are all calls.
"""

import json
import os
import sys
import threading
import types

all_counts = []  # one dictionary per thread: without a GIL they run at the same time
local = threading.local()
path = os.path.abspath(sys.argv[1])


def stack():
    try:
        return local.stack
    except AttributeError:
        local.stack, local.counts = [None], {}
        all_counts.append(local.counts)
        return local.stack


def enter(key, column):
    edge = (stack()[-1], key)
    local.counts.setdefault(edge, [0, 0])[column] += 1
    stack().append(key)


def leave(key):
    found = stack()
    if len(found) > 1 and found[-1] == key:
        found.pop()


def key_of(code):
    return (code.co_filename, code.co_firstlineno, code.co_name)


def profile(frame, event, argument):
    if event == "call":
        enter(key_of(frame.f_code), 0)
    elif event == "return":
        leave(key_of(frame.f_code))
    elif event == "c_call":
        enter(("", 0, argument.__name__), 0)
    else:
        leave(("", 0, argument.__name__))


def is_c(callable, first):
    if isinstance(callable, types.BuiltinFunctionType):
        return True
    return (
        type(callable) is types.MethodDescriptorType
        and first is not sys.monitoring.MISSING
        and isinstance(first, callable.__objclass__)
    )


def monitor():
    m, e = sys.monitoring, sys.monitoring.events
    m.use_tool_id(1, "oracle")

    def c_enter(code, offset, callable, first):
        if is_c(callable, first):
            enter(("", 0, callable.__name__), 0)

    def c_leave(code, offset, callable, first):
        if is_c(callable, first):
            leave(("", 0, callable.__name__))

    hooks = {
        e.PY_START: lambda code, offset: enter(key_of(code), 0),
        e.PY_RESUME: lambda code, offset: enter(key_of(code), 1),
        e.PY_THROW: lambda code, offset, error: enter(key_of(code), 1),
        e.PY_RETURN: lambda code, offset, value: leave(key_of(code)),
        e.PY_YIELD: lambda code, offset, value: leave(key_of(code)),
        e.PY_UNWIND: lambda code, offset, error: leave(key_of(code)),
        e.CALL: c_enter,
        e.C_RETURN: c_leave,
        e.C_RAISE: c_leave,
    }
    for event, hook in hooks.items():
        m.register_callback(1, event, hook)
    total = 0
    for event in hooks:
        total |= event
    m.set_events(1, total)
    return lambda: m.set_events(1, 0)


def start():
    if hasattr(sys, "monitoring"):
        return monitor()
    threading.setprofile(profile)
    sys.setprofile(profile)
    return lambda: (sys.setprofile(None), threading.setprofile(None))


def main():
    with open(path) as file:
        code = compile(file.read(), path, "exec")
    space = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
    stop = start()
    try:
        exec(code, space)
    except SystemExit:
        pass
    finally:
        stop()
    total = {}
    for counts in all_counts:
        for edge, n in counts.items():
            before = total.get(edge, [0, 0])
            total[edge] = [before[0] + n[0], before[1] + n[1]]
    print(json.dumps([[caller, callee, *n] for (caller, callee), n in total.items()]))


main()
