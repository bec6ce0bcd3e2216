"""Training with an evaluation after each epoch that autograd takes notes of.

    eval_grad.py slow | fast | inference | metric [EPOCHS]
"""
import contextlib

import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast", "inference", "metric")
torch.set_num_threads(1)
model = nn.Sequential(*[layer for _ in range(12) for layer in (nn.Linear(64, 64), nn.ReLU())], nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
train = [torch.randn(16, 64) for _ in range(6)]
held_out = [torch.randn(16, 64) for _ in range(24)]
target = torch.randn(16, 4)
around = {"slow": contextlib.nullcontext, "fast": torch.no_grad, "inference": torch.inference_mode, "metric": torch.no_grad}[MODE]


def evaluate():
    with around():
        return sum(float((model(x) - target).square().mean().detach()) for x in held_out)


def epoch():
    for x in train:
        out = model(x)
        loss = (out - target).square().mean()
        if MODE == "metric":
            (out - target).abs().mean().item()  # noted, and not gone back through: two operators
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    evaluate()


timed.run(epoch, timed.steps(12))
