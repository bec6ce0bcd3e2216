"""What `run --torch` costs a training, torch.profiler beside it in the same process.

    python benchmarks/torch_collect.py [STEPS]        of each kind, 1500
    python benchmarks/torch_collect.py --dense [ROUNDS]     what our ranges cost steps of many small operators, 15 rounds
    python benchmarks/torch_collect.py --sampled [BLOCKS]   what sampling alone costs the same steps, 400 blocks of 60 ms

Blocks of steps take turns: nothing on, our ranges on, torch.profiler on. So all three have the same process, memory and spells of the machine.
Bars: what ours adds inside the steps, at most 0.9 of what torch.profiler(activities=[CPU]) adds; 0.3 with its stop and key_averages() and our
`report --ops`; the same operators counted.
Dense: steps of a loop over LSTM cells (7.7 k ranges) at most 0.20 longer, steps of 500 ranges at most 0.05, by the CPU time of the thread, which the program
tells; beside it what the report estimates from the cost it measured in the process, within half of the truth, and what torch's ranges cost with a collector that
does nothing, where there is a C compiler: what is above that is ours.
Sampling alone, at most 0.02: blocks with the sampler and with the sampler stopped take turns in one process, and neighbours are compared, by the
clock and by the CPU time of the thread, which other programs on the machine do not lengthen but for the caches. Control: both with the sampler stopped.
"""
import collections
import gc
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import paired  # noqa: E402

LEADLINE = pathlib.Path(__file__).resolve().parent.parent / "build" / "leadline"
ROUNDS = 30
BLOCK_S, GUARD_S = 0.06, 0.012  # after each switch the tool's catching up belongs to neither side
CYCLE = (True, False, False, True, False, False)  # with the sampler; pairs of neighbours: two that compare, one control


def training():
    """One step of it."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1000, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
    loss, optimizer = torch.nn.MSELoss(reduction="sum"), torch.optim.SGD(net.parameters(), lr=1e-6)
    x, y = torch.randn(64, 1000), torch.randn(64, 10)

    def step():
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()

    return step


def sampled_program(blocks):
    """Under leadline, which is stopped and let go on from here: seconds a step of each block, by the clock and of this thread."""
    step = training()
    for _ in range(200):
        step()
    tool, times = os.getppid(), []
    for i in range(blocks):
        os.kill(tool, signal.SIGCONT if CYCLE[i % len(CYCLE)] else signal.SIGSTOP)
        guard = time.perf_counter() + GUARD_S
        while time.perf_counter() < guard:
            step()
        begun, cpu, n = time.perf_counter(), time.thread_time(), 0
        while time.perf_counter() < begun + BLOCK_S:
            step()
            n += 1
        times.append(((time.perf_counter() - begun) / n, (time.thread_time() - cpu) / n))
    os.kill(tool, signal.SIGCONT)
    print(json.dumps(times))


def sampled(blocks):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([LEADLINE, "run", "--report=/dev/null", "-o", f"{folder}/x.lead", "--", sys.executable, __file__, "--sampled-program", str(blocks)],
                              check=True, capture_output=True, text=True)
        said = subprocess.run([LEADLINE, "report", f"{folder}/x.lead", "--json"], check=True, capture_output=True, text=True).stdout
    times = json.loads(done.stdout.splitlines()[-1])
    print(f"{len(times)} blocks of steps of {statistics.median(t for t, _ in times) * 1e6:.0f} µs; {json.loads(said)['fidelity']['samples']} samples taken")
    for which, name in ((0, "by the clock"), (1, "CPU time of the thread")):
        ratios = {True: [], False: []}
        for i in range(0, len(times) - len(times) % 2, 2):
            kinds = [CYCLE[k % len(CYCLE)] for k in (i, i + 1)]
            on, off = (i, i + 1) if kinds[0] else (i + 1, i)
            ratios[any(kinds)].append(times[off][which] / times[on][which])
        print(f"{name}: sampling costs {paired.from_ratios(ratios[True])} (bar 2 %); control {paired.from_ratios(ratios[False])}")


def program(steps):
    """Under leadline: times each block and says what torch.profiler saw."""
    from torch.profiler import ProfilerActivity, profile

    ours = {f.__name__: f for f in gc.get_objects() if getattr(f, "__module__", None) == "leadline_torch" and hasattr(f, "__code__")}
    ours["_switch_off"]()
    step = training()

    def block():
        begun = time.perf_counter()
        for _ in range(steps // ROUNDS):
            step()
        return time.perf_counter() - begun

    def with_ours():
        ours["_switch_on"]()
        took = block()
        ours["_switch_off"]()
        return took

    def with_torch():
        with profile(activities=[ProfilerActivity.CPU]) as p:
            took = block()
            begun = time.perf_counter()
        stop = time.perf_counter() - begun
        ours["_switch_off"]()  # it comes back after a profiler of the program's
        begun = time.perf_counter()
        p.key_averages().table(sort_by="self_cpu_time_total", row_limit=-1)
        after.append((stop, time.perf_counter() - begun))
        seen.update(e.name() for e in p.profiler.kineto_results.events())
        return took

    after, seen, times = [], collections.Counter(), []
    for _ in range(5):
        block()
    for i in range(ROUNDS):
        kinds = [block, with_ours, with_torch, block]
        took = [kind() for kind in (kinds if i % 2 else kinds[::-1])]
        times.append(took if i % 2 else took[::-1])
    print(json.dumps({"times": times, "after": after, "seen": seen}))


def cells():
    """A step of many small operators."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    cell, head = torch.nn.LSTMCell(32, 64), torch.nn.Linear(64, 8)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=1e-3)
    x, y = torch.randn(70, 16, 32), torch.randint(0, 8, (16,))

    def step():
        optimizer.zero_grad()
        h = c = torch.zeros(16, 64)
        for k in range(len(x)):
            h, c = cell(x[k], (h, c))
        torch.nn.functional.cross_entropy(head(h), y).backward()
        optimizer.step()

    return step


def layers():
    """A step of fewer and larger ones."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()) for _ in range(12)))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
    x = torch.randn(64, 256)

    def step():
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()

    return step


# A collector of ITT ranges that takes them and does nothing.
EMPTY = """
#include <pthread.h>
#include <string.h>
struct function { const char *name; void **pointer, *init, *null; int group; };
struct global { char magic[8]; long version[3], states[3]; pthread_mutex_t mutex; void *library, *on_error, *path; struct function *functions; };
struct id { long parts[3]; };
static const char *handle[3] = { "" };
static void *create(const char *text) { (void)text; return handle; }
static void begin(void *domain, struct id task, struct id parent, void *name) { (void)domain, (void)task, (void)parent, (void)name; }
static void end(void *domain) { (void)domain; }
void __itt_api_init(struct global *g, int groups)
{
	(void)groups;
	for (struct function *f = g->functions; f->name; f++) {
		if (!strcmp(f->name, "__itt_string_handle_create")) *f->pointer = create;
		if (!strcmp(f->name, "__itt_task_begin")) *f->pointer = begin;
		if (!strcmp(f->name, "__itt_task_end")) *f->pointer = end;
	}
}
"""


def plain_switches():
    """Ranges on and off without leadline: all scopes, as emit_itt has them."""
    from torch.autograd import profiler

    taken, enable = [], profiler._enable_profiler
    profiler._enable_profiler = lambda *words: taken.append(words)
    profiler.emit_itt().__enter__()
    profiler._enable_profiler = enable
    return {"_switch_on": lambda: enable(*taken[0]), "_switch_off": profiler._disable_profiler}


def dense_program(kind, rounds):
    ours = {f.__name__: f for f in gc.get_objects() if getattr(f, "__module__", None) == "leadline_torch" and hasattr(f, "__code__")}
    step, times = {"cells": cells, "layers": layers}[kind](), []  # with which torch was imported
    if ours:
        ours["_switch_off"]()
    else:
        ours = plain_switches()
    n = {"cells": 3, "layers": 30}[kind]
    for _ in range(5):
        step()
    for i in range(rounds):
        took = {}
        for is_on in ((True, False) if i % 2 else (False, True)):
            if is_on:
                ours["_switch_on"]()
            step()  # the caches
            begun = time.thread_time()
            for _ in range(n):
                step()
            took[is_on] = (time.thread_time() - begun) / n
            if is_on:
                ours["_switch_off"]()
        times.append((took[False], took[True]))
    print(json.dumps({"times": times, "steps": rounds * (n + 1)}))


def empty_share(kind, rounds, folder):
    """How much longer steps take with ranges that nobody keeps; None: no compiler."""
    compiler, library = shutil.which("cc"), f"{folder}/empty.so"
    if not compiler:
        return None
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=EMPTY, text=True, check=True)
    done = subprocess.run([sys.executable, __file__, "--dense-program", kind, str(rounds)], env={**os.environ, "INTEL_LIBITTNOTIFY64": library}, check=True, capture_output=True, text=True)
    return statistics.median(b / a - 1 for a, b in json.loads(done.stdout.splitlines()[-1])["times"])


def dense(rounds):
    for kind, bar in (("cells", 0.20), ("layers", 0.05)):
        with tempfile.TemporaryDirectory() as folder:
            lead = f"{folder}/x.lead"
            done = subprocess.run([LEADLINE, "run", "--torch", "--report=/dev/null", "-o", lead, "--", sys.executable, __file__, "--dense-program", kind, str(rounds)],
                                  check=True, capture_output=True, text=True)
            empty = empty_share(kind, rounds, folder)
            said = json.loads(subprocess.run([LEADLINE, "report", lead, "--overview", "--ops", "--json", "--limit=0"], check=True, capture_output=True, text=True).stdout)
        told = json.loads(done.stdout.splitlines()[-1])
        off = statistics.median(a for a, _ in told["times"])
        more = statistics.median(b - a for a, b in told["times"])
        ranges = sum(o["calls"] for o in said["operators"]) / told["steps"]
        print(f"{kind}: {ranges:.0f} ranges in a step of {off * 1e3:.2f} ms of CPU; collecting adds {more / off:.1%} (bar {bar:.0%}), {more / ranges * 1e9:.0f} ns a range; "
              f"the process measured {(said['overview']['collecting_call_s'] or 0) * 1e9:.0f} ns" + (f"; ranges that nobody keeps add {empty:.1%}" if empty is not None else ""))


def main(steps):
    with tempfile.TemporaryDirectory() as folder:
        lead = f"{folder}/x.lead"
        done = subprocess.run([LEADLINE, "run", "--torch", "--report=/dev/null", "-o", lead, "--", sys.executable, __file__, "--program", str(steps)],
                              check=True, capture_output=True, text=True)
        begun = time.perf_counter()
        said = subprocess.run([LEADLINE, "report", lead, "--ops", "--json", "--limit=-1"], check=True, capture_output=True, text=True).stdout
        report = time.perf_counter() - begun
        size = pathlib.Path(lead).stat().st_size
    told = json.loads(done.stdout.splitlines()[-1])
    n = steps // ROUNDS * ROUNDS
    bare = [(a + d) / 2 for a, _, _, d in told["times"]]
    added = {name: [t[i] - b for t, b in zip(told["times"], bare)] for i, name in ((1, "ours"), (2, "torch"))}
    us = {name: statistics.median(v) / (n / ROUNDS) * 1e6 for name, v in added.items()}
    base = statistics.median(bare) / (n / ROUNDS) * 1e6
    stop, table = (sum(part) for part in zip(*told["after"]))
    counts = {o["name"]: int(o["calls"]) for o in json.loads(said)["operators"]}
    calls = sum(counts.values())
    print(f"{n} steps of {base:.0f} µs, {calls / n:.0f} ranges each: leadline run --torch adds {us['ours']:.1f} µs a step ({us['ours'] / base:.1%}, "
          f"{us['ours'] / calls * n * 1e3:.0f} ns a range), torch.profiler {us['torch']:.1f} µs ({us['torch'] / base:.1%})")
    print(f"inside the steps: {us['ours'] / us['torch']:.2f} of torch.profiler's (bar 0.9)")
    ours_all, torch_all = us["ours"] * n / 1e6 + report, us["torch"] * n / 1e6 + stop + table
    print(f"with stop and table: {ours_all:.3f} s (report --ops {report:.3f} s) against {torch_all:.3f} s (stop {stop:.3f} s, key_averages() {table:.3f} s): "
          f"{ours_all / torch_all:.2f} (bar 0.3)")
    same = {name: n for name, n in told["seen"].items()} == counts
    print(f"operators and counts: {'the same' if same else 'NOT the same'}; the recording has {size / 1e6:.1f} MB")


if __name__ == "__main__":
    if "--sampled-program" in sys.argv:
        sampled_program(int(sys.argv[-1]))
    elif "--dense-program" in sys.argv:
        dense_program(sys.argv[-2], int(sys.argv[-1]))
    elif "--dense" in sys.argv:
        dense(int(sys.argv[2]) if len(sys.argv) > 2 else 15)
    elif "--sampled" in sys.argv:
        sampled(int(sys.argv[2]) if len(sys.argv) > 2 else 400)
    elif "--program" in sys.argv:
        program(int(sys.argv[-1]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500)
