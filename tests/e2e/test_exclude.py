"""--exclude: what is left out has no rows, costs nothing once met, and leaves all else exact."""
import json
import subprocess

import pytest
from interpreters import EXPECTED, require
from test_trace import BEFORE_MONITORING, LEADLINE, trace

PROGRAM = '''
import json, sys
source = """
def inner():
    return hex(7)
def helper(callback):
    inner()
    return callback() + callback()
def numbers():
    yield 1
    yield 2
def failing():
    raise ValueError
"""
space = {}
exec(compile(source, "/somewhere/left_out.py", "exec"), space)
helper, numbers, failing, inner = (space[n] for n in ("helper", "numbers", "failing", "inner"))

def callback():
    return oct(8).count("0")

def kept():
    return helper(callback)

def more():
    for _ in numbers():
        callback()
    try:
        failing()
    except ValueError:
        callback()

for _ in range(20):
    kept()
    more()

def is_watched(function):
    import dis
    return any(i.opname.startswith("INSTRUMENTED") for i in dis.get_instructions(function, adaptive=True))

if sys.version_info >= (3, 12):
    print(json.dumps({f.__name__: is_watched(f) for f in (inner, helper, numbers, failing, callback, kept)}))
'''
CALLS = {"kept": 20, "more": 20, "callback": 100}


@pytest.mark.parametrize("options", (("--exclude", "left_out.py"), ("--exclude", "inner,helper,numbers,failing")), ids=("file", "functions"))
@pytest.mark.parametrize("label", EXPECTED)
def test_what_is_left_out_has_no_rows_and_no_hooks(label, options):
    t = trace(label, PROGRAM, *options)
    names = {node["name"].rpartition(".")[2] for node in t.nodes if node["name"]}
    assert not names & {"inner", "helper", "numbers", "failing", "hex>"}
    assert {name: t.calls(name) for name in CALLS} == CALLS
    callers = {t.by_id[node["parent"]]["name"] for node in t.nodes if node["name"] == "callback"}
    assert callers == {"kept", "more"}
    if label not in BEFORE_MONITORING:
        hooks = json.loads(t.result.stdout.splitlines()[0])
        assert {name for name, is_watched in hooks.items() if is_watched} == {"callback", "kept"}


def test_a_budget_leaves_it_out_too():
    t = trace("3.13", PROGRAM, "--budget", "10%", "--exclude", "left_out.py")
    assert "Not traced (--exclude): left_out.py;" in " ".join(t.result.stderr.split())
    assert not {"inner", "helper", "numbers", "failing"} & {node["name"] for node in t.nodes}
    assert {name: t.calls(name) for name in CALLS} == CALLS


def test_it_is_for_exact_calls():
    result = subprocess.run([LEADLINE, "run", "--exclude", "x.py", "--", *require("3.13").command("-c", "pass")], stderr=subprocess.PIPE, text=True)
    assert (result.returncode, "--exclude needs --trace" in result.stderr) == (125, True)
