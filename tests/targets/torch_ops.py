"""A training with threads and DataLoader workers whose operators are counted, by leadline or by torch.

    torch_ops.py                    trains
    torch_ops.py main|others FILE   the same, the main thread or all others under torch.profiler: {operator: calls} goes to FILE
"""

import collections
import contextlib
import json
import os
import sys
import tempfile
import threading

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import DataLoader

WHO, FILE = sys.argv[1:] if len(sys.argv) > 1 else (None, None)


@contextlib.contextmanager
def counted(who):
    """Appends what ran inside to the file, as a line of its own: parts may run in other processes."""
    if who != WHO:
        yield
        return
    with profile(activities=[ProfilerActivity.CPU]) as p:
        yield
    with tempfile.TemporaryDirectory() as folder:
        p.export_chrome_trace(folder + "/trace.json")  # events() would fold calls within calls of the same name
        with open(folder + "/trace.json") as trace:
            events = json.load(trace)["traceEvents"]
    counts = collections.Counter(e["name"] for e in events if e.get("cat") in ("cpu_op", "user_annotation"))
    with open(FILE, "a") as file:
        file.write(json.dumps(counts) + "\n")


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad + grad


class Nested(torch.autograd.Function):
    """Its backward runs another one: beyond 60 autograd goes on in a thread of its own."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x + 1

    @staticmethod
    def backward(ctx, grad):
        NATIVE.add(threading.get_native_id())
        if ctx.depth:
            with torch.enable_grad():
                nested(ctx.depth - 1)
        return grad * 3, None


NATIVE = set()


def nested(depth):
    x = torch.ones(1, requires_grad=True)
    Nested.apply(x * 2, depth).backward()


def train(steps):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 20), torch.randn(8, 3)
    for _ in range(steps):
        optimizer.zero_grad()
        with record_function("forward pass"):
            loss = ((Doubled.apply(model(x)) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def in_thread():
    with counted("others"):
        torch.ones(4, 4).cumsum(0).sum()


def collate(items):
    """In a worker. Tensors would be sent by more operators, of a thread that nobody can put a profiler around."""
    with counted("others"):
        return torch.stack([torch.full((3,), float(i)).exp() for i in items]).tanh().tolist()


def main():
    with counted("main"):
        loss = train(25)
        nested(70)
        for _ in range(2):
            thread = threading.Thread(target=in_thread)
            thread.start()
            thread.join()
        loader = DataLoader(list(range(12)), batch_size=4, num_workers=2, collate_fn=collate)
        total = sum(float(torch.tensor(batch).sum()) for batch in loader)
    print("loss %.6f, total %.6f, %d threads of autograd, %s" % (loss, total, len(NATIVE), sorted(k for k in os.environ if "ITT" in k)))


if __name__ == "__main__":
    main()
