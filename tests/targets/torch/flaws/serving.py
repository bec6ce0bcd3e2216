"""Requests that are answered one by one, or eight at a time.

    serving.py slow | fast | large | training [REQUESTS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast", "large", "training")
torch.set_num_threads(1)
AT_ONCE = {"slow": 1, "fast": 8, "large": 64, "training": 1}[MODE]
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 64)).eval()
requests = torch.randn(64, 512)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
at = 0


def answer(x):
    with torch.inference_mode():
        return torch.softmax(model(x), 1).argmax(1).tolist()


def step():
    """Eight requests."""
    global at
    if MODE == "training":
        model(requests[:1]).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        return
    for _ in range(max(8 // AT_ONCE, 1)):
        answer(requests[at : at + AT_ONCE])
        at = (at + AT_ONCE) % 64


timed.run(step, timed.steps(40))
