"""A linear layer that is called once for each token, and a look at both of its neighbours: few large calls, a loop that is a small part.

    token_loop.py slow | fast | large | beside [STEPS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast", "large", "beside")
torch.set_num_threads(1)
BATCH, TOKENS, WIDTH = (256, 6, 512) if MODE == "large" else (4, 128, 32)
layer = nn.Linear(WIDTH, WIDTH)
head = nn.Linear(WIDTH, 8)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.01)
x = torch.randn(BATCH, TOKENS, WIDTH)
tokens = x.unbind(1)
other = torch.randn(900, 900)


def forward():
    if MODE == "fast":
        return torch.relu(layer(x)).mean(1)
    if MODE == "beside":
        torch.mm(other, other)
    out = []
    for token in tokens[:12] if MODE == "beside" else tokens:
        out.append(torch.relu(layer(token)))
    return torch.stack(out, 1).mean(1)


def step():
    loss = head(forward()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


timed.run(step, timed.steps(25))
