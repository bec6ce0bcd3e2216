"""An LSTMCell in a Python loop, where nn.LSTM does the same.

    cell_loop.py slow | fast | large | once [STEPS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast", "large", "once")
torch.set_num_threads(1)
BATCH, TOKENS, WIDTH = (256, 6, 256) if MODE == "large" else (8, 64, 32)
cell = nn.LSTM(WIDTH, WIDTH, batch_first=True) if MODE == "fast" else nn.LSTMCell(WIDTH, WIDTH)
head = nn.Linear(WIDTH, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
x = torch.randn(BATCH, TOKENS, WIDTH)
tokens = x.unbind(1)
other = torch.randn(900, 900)


def forward():
    if MODE == "fast":
        return cell(x)[0][:, -1]
    h = c = torch.zeros(BATCH, WIDTH)
    if MODE == "once":  # as a decoder that makes one token does
        torch.mm(other, other)
        return cell(tokens[0], (h, c))[0]
    for token in tokens:
        h, c = cell(token, (h, c))
    return h


def step():
    loss = head(forward()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


timed.run(step, timed.steps(25))
