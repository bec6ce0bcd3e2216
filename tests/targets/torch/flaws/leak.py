"""A sum of losses that are watched, and not gone back through, so that it keeps the graph of every step.

    leak.py slow | fast | fills | swings [STEPS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast", "fills", "swings")
torch.set_num_threads(1)
N = timed.steps(40)
model = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(512, 256)
total, cache, count = 0, [], 0


def step():
    global total, count
    if MODE == "fills" and count < N // 4:
        cache.append(torch.ones(1 << 20))  # up to what it needs, and then no more
    batch = torch.cat([x] * (1 + count % 4)) if MODE == "swings" else x
    count += 1
    watched = model(x).square().mean()
    if MODE == "slow":
        total = total + watched
    else:
        total += watched.item()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


timed.run(step, N)
