"""A model in float64, because NumPy's arrays are.

    float64.py slow | fast | loss | input [STEPS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast", "loss", "input")
torch.set_num_threads(1)
kind = torch.float64 if MODE == "slow" else torch.float32
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 16)).to(kind)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(256, 256, dtype=torch.float64 if MODE == "input" else kind)
small = torch.randn(16, 16, dtype=torch.float64)


def step():
    out = model(x.float() if MODE == "input" else x)
    if MODE == "loss":  # the last sum alone is exact
        loss = (out.double() @ small).square().mean()
    else:
        loss = out.square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


timed.run(step, timed.steps(20))
