"""Counts how often each instruction of a script is begun, in plain Python: an oracle for the counter of instructions.

    opcode_oracle.py SCRIPT

Prints [[name of the function, its first line, bytes of code, {offset: hits}], …] as JSON on stderr, every instruction of
the script's own code.
"""
import collections
import dis
import json
import sys
import threading
import types

script = sys.argv[1]
hits = collections.defaultdict(collections.Counter)


def name(code):
    return getattr(code, "co_qualname", code.co_name), code.co_firstlineno, len(code.co_code)


def all_codes(code):
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from all_codes(inner)


def count(code, offset):
    if code.co_filename == script:
        hits[name(code)][offset] += 1


def begin(code, offset):
    """An activation begins or goes on: neither that instruction nor what is before it at the beginning is told."""
    begins = code.co_code[offset + 1] == 0 or not code.co_flags & 0x2A0
    for at in range(0 if begins else offset, offset + 2, 2):
        count(code, at)


def trace(frame, event, arg):
    code = frame.f_code
    if code.co_filename != script:
        return trace
    frame.f_trace_opcodes = True
    if event == "opcode":
        count(code, frame.f_lasti)
    elif event == "call" and code.co_code[frame.f_lasti] == dis.opmap.get("RESUME"):  # 3.11
        begin(code, frame.f_lasti)
    return trace


with open(script) as f:
    program = compile(f.read(), script, "exec", dont_inherit=True)
codes = list(all_codes(program))
main = {"__name__": "__main__", "__file__": script, "__builtins__": __builtins__}
if sys.version_info >= (3, 12):
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(5, "oracle")
    sys.monitoring.register_callback(5, events.INSTRUCTION, count)
    sys.monitoring.register_callback(5, events.PY_START, begin)
    sys.monitoring.register_callback(5, events.PY_RESUME, begin)
    # From 3.14 on generators are closed without running them when nobody watches exceptions, as who counts calls does.
    sys.monitoring.register_callback(5, events.PY_UNWIND, lambda code, offset, exception: None)
    sys.monitoring.set_events(5, events.PY_UNWIND)
    for code in codes:
        sys.monitoring.set_local_events(5, code, events.INSTRUCTION | events.PY_START | events.PY_RESUME)
else:
    threading.settrace(trace)
    sys.settrace(trace)
exec(program, main)
sys.settrace(None)
rows = []
for code in codes:
    counts = hits[name(code)]
    rows.append([*name(code), {i.offset: counts[i.offset] for i in dis.get_instructions(code)}])
print(json.dumps(rows), file=sys.stderr)
