"""Not used to choose the advice's shares: AdamW over the forty parameters of ten small blocks.

    held_adam.py slow | fast [STEPS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast")
torch.set_num_threads(1)
model = nn.Sequential(*(nn.Sequential(nn.LayerNorm(160), nn.Linear(160, 160), nn.GELU()) for _ in range(10)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **({"fused": True} if MODE == "fast" else {}))
x = torch.randn(24, 160)


def step():
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


timed.run(step, timed.steps(60))
