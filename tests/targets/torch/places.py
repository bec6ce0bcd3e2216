"""A training whose operators lie on known lines and in known modules; it tells the truth itself.

    places.py FILE    trains, and writes {"steps": n, "calls": {operator: {what: calls}}} to FILE

What: "LABEL" of a line that has a comment "# at LABEL" and calls the operator, "LABEL backward" for what autograd does because of it.
Calls are those of one step.
"""

import json
import sys

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 14
BLOCKS = 3
SIZE = 48


class Pool(nn.Module):
    """The same operator on two lines, as in many a CNN."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 8, 3, padding=1)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.first(x)), 2)  # at pool-1
        x = F.max_pool2d(torch.relu(self.second(x)), 2)  # at pool-2
        return x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(SIZE, SIZE)
        self.outer = nn.Linear(SIZE, SIZE)

    def forward(self, x):
        x = torch.tanh(self.inner(x))  # at block-inner
        x = torch.tanh(self.outer(x))  # at block-outer
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = Pool()
        self.head = nn.Linear(8 * 4 * 4, SIZE)
        self.layers = nn.ModuleList([Block() for _ in range(BLOCKS)])
        self.out = nn.Linear(SIZE, 2)

    def forward(self, x):
        x = self.head(self.pool(x).flatten(1))  # at head
        for layer in self.layers:
            x = layer(x)
        return self.out(x)  # at out


def look(x):
    """Without gradients: none of it is gone back to."""
    with torch.no_grad():
        return torch.tanh(x).sum()  # at look


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    look(x)
    loss = F.mse_loss(model(x), y)  # at loss
    loss.backward()  # at backward
    optimizer.step()  # at optimizer
    return loss.item()


# operator: calls in a step, by where they are asked for
TRUTH = {
    "aten::max_pool2d_with_indices": {"pool-1": 1, "pool-2": 1},
    "aten::max_pool2d_with_indices_backward": {"pool-1 backward": 1, "pool-2 backward": 1},
    "aten::tanh": {"block-inner": BLOCKS, "block-outer": BLOCKS, "look": 1},
    "aten::tanh_backward": {"block-inner backward": BLOCKS, "block-outer backward": BLOCKS},
    "aten::addmm": {"block-inner": BLOCKS, "block-outer": BLOCKS, "head": 1, "out": 1},
    "aten::mm": {"block-inner backward": 2 * BLOCKS, "block-outer backward": 2 * BLOCKS, "head backward": 2, "out backward": 2},
    "aten::convolution_backward": {"pool-1 backward": 1, "pool-2 backward": 1},
    "aten::mse_loss": {"loss": 1},
    "MseLossBackward0": {"loss backward": 1},
}


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn(16, 1, 16, 16), torch.randn(16, 2)
    losses = [step(model, optimizer, x, y) for _ in range(STEPS)]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"steps": STEPS, "calls": TRUTH}, file)
    print(f"{losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
