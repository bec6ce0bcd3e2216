"""Indexing a tensor that needs gradients in a loop: each index fills a whole tensor with zeros on the way back. unbind() does not.

    select_loop.py slow | fast | plain | few [STEPS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast", "plain", "few")
torch.set_num_threads(1)
BATCH, TOKENS, WIDTH = 32, 48, 128
embed = nn.Linear(WIDTH, WIDTH)
optimizer = torch.optim.SGD(embed.parameters(), lr=0.01)
data = torch.randn(BATCH, TOKENS, WIDTH)


def parts():
    x = embed(data)
    if MODE == "fast":
        return x.unbind(1)
    if MODE == "few":
        return [x[:, 0], x[:, 1]]
    if MODE == "plain":
        return [x.mean(1) * data[:, t] for t in range(TOKENS)]  # what is indexed needs no gradient
    return [x[:, t] for t in range(TOKENS)]


def step():
    loss = 0
    for part in parts():
        loss = loss + part.tanh().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


timed.run(step, timed.steps(12))
