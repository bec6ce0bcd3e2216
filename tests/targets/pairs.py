"""Runs a script under sys.setprofile and prints which Python function calls which, as JSON: the oracle for
impossible stacks.    pairs.py SCRIPT ARGUMENT…"""
import json
import os
import runpy
import sys

pairs = set()


def name(code):
    return getattr(code, "co_qualname", code.co_name)


def hook(frame, event, arg):
    if event == "call":
        caller = frame.f_back
        pairs.add((name(caller.f_code) if caller else "", name(frame.f_code)))


script = sys.argv[1]
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(script))
out = sys.stdout
sys.setprofile(hook)
try:
    runpy.run_path(script, run_name="__main__")
finally:
    sys.setprofile(None)
    json.dump(sorted(pairs), sys.stderr)
