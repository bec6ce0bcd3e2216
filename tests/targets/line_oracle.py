"""Counts how often each line of a script is begun, in plain Python: an oracle for the line profiler.

    line_oracle.py SCRIPT

Prints [[name of the function, its first line, line, hits], …] as JSON on stderr.
"""
import collections
import json
import runpy
import sys
import threading

script = sys.argv[1]
hits = collections.Counter()


def count(code, line):
    if code.co_filename == script:
        hits[getattr(code, "co_qualname", code.co_name), code.co_firstlineno, line] += 1


def trace(frame, event, arg):
    if event == "line":
        count(frame.f_code, frame.f_lineno)
    return trace


if sys.version_info >= (3, 12):
    sys.monitoring.use_tool_id(5, "oracle")
    sys.monitoring.register_callback(5, sys.monitoring.events.LINE, count)
    # Without PY_START single-line functions have no LINE events from 3.13 on.
    sys.monitoring.register_callback(5, sys.monitoring.events.PY_START, lambda code, offset: None)
    sys.monitoring.set_events(5, sys.monitoring.events.LINE | sys.monitoring.events.PY_START)
else:
    threading.settrace(trace)
    sys.settrace(trace)
runpy.run_path(script, run_name="__main__")
sys.settrace(None)
if sys.version_info >= (3, 12):
    sys.monitoring.set_events(5, 0)
print(json.dumps([[*key, n] for key, n in sorted(hits.items())]), file=sys.stderr)
