"""A small training in torch: a network of three layers, Adam, batches drawn from data in memory.

    training.py SECONDS      prints what pace.py says of its steps
"""
import sys

import pace
import torch

ROWS, INPUTS, HIDDEN, OUTPUTS, BATCH = 4096, 128, 96, 10, 32


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(INPUTS, HIDDEN)
        self.second = torch.nn.Linear(HIDDEN, HIDDEN)
        self.last = torch.nn.Linear(HIDDEN, OUTPUTS)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x))
        return self.last(x)


class Training:
    def __init__(self):
        torch.manual_seed(0)
        self.x, self.y = torch.randn(ROWS, INPUTS), torch.randint(0, OUTPUTS, (ROWS,))
        self.net, self.loss = Net(), torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def batch(self):
        rows = torch.randint(0, ROWS, (BATCH,))
        return self.x[rows], self.y[rows]

    def step(self):
        x, y = self.batch()
        self.optimizer.zero_grad()
        self.loss(self.net(x), y).backward()
        self.optimizer.step()


if __name__ == "__main__":
    torch.set_num_threads(1)  # one core, so that runs compare
    pace.run(Training().step, float(sys.argv[1]))
