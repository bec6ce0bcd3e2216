"""More threads of torch than there are CPUs.

    threads.py slow | fast | one | python [STEPS]
"""
import os
import threading

import timed
import torch

MODE = timed.mode("slow", "fast", "one", "python")
CPUS = len(os.sched_getaffinity(0))
torch.set_num_threads({"slow": 4 * CPUS, "fast": CPUS, "one": 1, "python": 1}[MODE])
x = torch.randn(512, 512)
done = threading.Event()
if MODE == "python":  # threads that wait, and want no CPU
    for _ in range(4 * CPUS):
        threading.Thread(target=done.wait, daemon=True).start()


def step():
    y = x
    for _ in range(20):
        y = torch.tanh(torch.mm(y, x) * 0.01)
    return y.sum().item()


timed.run(step, timed.steps(30))
done.set()
