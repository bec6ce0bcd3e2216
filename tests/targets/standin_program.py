"""Runs the stand-in for PyTorch that lies beside it, and prints what a program could notice."""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "standin"))

import torch  # noqa: E402

profiler = torch.autograd.profiler


def step():
    torch.add()
    for _ in range(3):
        torch.add()


def main():
    for _ in range(100):
        with profiler.record_function("a region"):
            step()
    with profiler.profile():
        torch.add()
        print(torch.autograd._profiler_enabled())
    with profiler.emit_itt():
        torch.add()
    try:
        with profiler.profile(), profiler.profile():
            pass
    except RuntimeError as error:
        print(error)
    try:
        profiler._disable_profiler()
    except RuntimeError as error:
        print(error)
    torch.add()
    for _ in range(30):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    sys.stdout.write("%s\n" % threading._start_new_thread.__name__ if hasattr(threading, "_start_new_thread") else "")


main()
print(torch.autograd._profiler_enabled(), profiler._is_profiler_enabled, type(torch.__loader__).__name__)
print(torch.__spec__.loader is torch.__loader__, profiler._enable_profiler.__name__, sorted(k for k in os.environ if "ITT" in k))
