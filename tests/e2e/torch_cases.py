# SPDX-License-Identifier: MIT
"""Run by test_torch.py: profiles small random models with random flags, and leaves the traces with torch's own tables beside them.

    python torch_cases.py FOLDER SEED COUNT

FOLDER/N.json is a trace; FOLDER/N.K.txt a table of it and FOLDER/N.K.args the options of `leadline report` that ask for it."""

import random
import sys
import threading
import warnings

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

KEYS = ["cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count", "cpu_time"]


def model(rng):
    width = rng.choice([3, 8, 17])
    if rng.random() < 0.4:
        groups = rng.choice([1, 2])
        layers = [nn.Conv2d(2, 4, 3, padding=rng.choice([0, 1]), stride=rng.choice([1, 2]), groups=groups), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2)]
        return nn.Sequential(*layers), lambda: torch.randn(rng.choice([1, 3]), 2, 9, 9)
    layers = [nn.Linear(width, width)]
    for _ in range(rng.randrange(3)):
        layers.append(rng.choice([nn.ReLU(), nn.Tanh(), nn.Linear(width, width), nn.LayerNorm(width), nn.Dropout(0.5)]))
    return nn.Sequential(*layers), lambda: torch.randn(rng.choice([2, 5]), width)


def extras(rng):
    a = torch.randn(3, 4, 5)
    with record_function(rng.choice(["load", "load data"])):
        torch.bmm(a, torch.randn(3, 5, 2))
        torch.baddbmm(torch.zeros(3, 4, 2), a, torch.randn(3, 5, 2))
    torch.cat([a, a]).mul(2).add(1)
    if rng.random() < 0.5:
        work = threading.Thread(target=lambda: torch.randn(20, 20) @ torch.randn(20, 20))
        work.start()
        work.join()


def step(rng, net, make, optimizer):
    out = net(make()).sum()
    if rng.random() < 0.8:
        out.backward()
        optimizer.step()
        optimizer.zero_grad()
    extras(rng)


def warm_up():
    """What torch imports at the first use would be in a profile, and names of code that is gone by then differ between its trace and its table."""
    rng = random.Random(0)
    net = nn.Linear(3, 3)
    for kind in (torch.optim.SGD, torch.optim.Adam):
        with profile(activities=[ProfilerActivity.CPU], with_stack=True, record_shapes=True, profile_memory=True, schedule=schedule(wait=0, warmup=1, active=1)) as prof:
            for _ in range(3):
                step(rng, net, lambda: torch.randn(2, 3), kind(net.parameters(), lr=0.01))
                prof.step()
        prof.key_averages().table()


def main(folder, seed, count):
    warm_up()
    for number in range(count):
        rng = random.Random(seed * 1000 + number)
        torch.manual_seed(number)
        net, make = model(rng)
        net(make())
        optimizer = rng.choice([torch.optim.SGD, torch.optim.Adam])(net.parameters(), lr=0.01)
        step(rng, net, make, optimizer)
        flags = {name: rng.random() < 0.5 for name in ("record_shapes", "profile_memory", "with_stack")}
        flags["with_flops"] = flags["record_shapes"] and rng.random() < 0.7
        n_steps = rng.randrange(1, 5)
        plan = schedule(wait=0, warmup=1, active=n_steps, repeat=1) if rng.random() < 0.5 else None
        with profile(activities=[ProfilerActivity.CPU], schedule=plan, **flags) as prof:
            for _ in range(n_steps + (plan is not None)):
                step(rng, net, make, optimizer)
                if plan:
                    prof.step()
        prof.export_chrome_trace(f"{folder}/{number}.json")
        for k in range(4):
            by_shape, limit, top = rng.random() < 0.5, rng.choice([-1, 5, 100]), rng.random() < 0.3
            key = rng.choice(KEYS)
            rows = prof.key_averages(group_by_input_shape=by_shape)
            text = rows.table(sort_by=key, row_limit=limit, top_level_events_only=top)
            args = [f"--sort={key}", f"--limit={limit}"] + ["--group-by-shape"] * by_shape + ["--top-level"] * top
            with open(f"{folder}/{number}.{k}.txt", "w", encoding="utf-8") as out:
                out.write(text)
            with open(f"{folder}/{number}.{k}.args", "w", encoding="utf-8") as out:
                out.write("\n".join(args))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
