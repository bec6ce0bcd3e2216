import ctypes
import os

import torch

from . import _disable_profiler, _enable_profiler

_is_profiler_enabled = False


def _run_on_profiler_start():
    global _is_profiler_enabled
    _is_profiler_enabled = True


class emit_itt:
    def __enter__(self):
        _run_on_profiler_start()
        _enable_profiler("ITT", set())

    def __exit__(self, *error):
        _disable_profiler()


class profile:
    def __enter__(self):
        _enable_profiler("KINETO", set())

    def __exit__(self, *error):
        _disable_profiler()


class record_function:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        if torch._C._autograd.state.is_on == "ITT":
            begin, handle = torch._calls[1], torch._calls[0](self.name.encode())
            begin(ctypes.addressof(torch._domain), torch._Id(), torch._Id(), handle)

    def __exit__(self, *error):
        if torch._C._autograd.state.is_on == "ITT":
            torch._C._itt.rangePop()


if os.environ.get("STANDIN_VERSION", "").startswith("1.12"):
    del emit_itt
