"""What every program here shares: steps that are timed by the CPU time they take, or by the clock where they wait.

A program is one flaw, with a switch: `slow` has it, `fast` is the same work without it, the others look alike and do not have it. The
last line it prints is JSON: {"steps": …, "step_s": CPU seconds of a step (the median), "wall_s": by the clock, all of them,
"peak_bytes": the most memory it had}.

Steps are marked, as torch.profiler does it, so that what is looked at is the advice and not how steps are found. With FLAW_TRACE=FILE in
the environment torch.profiler writes a trace of them there, with shapes, memory and stacks.
"""
import contextlib
import json
import os
import resource
import statistics
import sys
import time

import torch

torch.manual_seed(0)


def mode(*known):
    name = sys.argv[1] if len(sys.argv) > 1 else known[0]
    if name not in known:
        sys.exit(f"{sys.argv[0]}: {' | '.join(known)}")
    return name


def steps(default):
    return int(sys.argv[2]) if len(sys.argv) > 2 else default


@contextlib.contextmanager
def traced():
    if "FLAW_TRACE" not in os.environ:
        yield
        return
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True) as profiler:
        yield
    profiler.export_chrome_trace(os.environ["FLAW_TRACE"])


def run(step, n, warm=2):
    """One CPU thread unless the program says otherwise: CPU time is then what the step would take on a machine of its own."""
    for _ in range(warm):
        step()
    took, begun = [], time.perf_counter()
    with traced():
        for k in range(n):
            at = time.process_time()
            with torch.profiler.record_function(f"ProfilerStep#{k}"):
                step()
            took.append(time.process_time() - at)
    tell(n, statistics.median(took), time.perf_counter() - begun)


def tell(n, step_s, wall_s):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"steps": n, "step_s": step_s, "wall_s": wall_s, "peak_bytes": peak}))
