"""A recurrent net written as a loop over cells, trained: thousands of small operators a step.

    lstm.py [STEPS [LENGTH]]     20 steps over sequences of 60; prints the truth as JSON: steps, cells, seconds of each step
"""
import json
import sys
import time

import torch

STEPS, LENGTH = (int(word) for word in (sys.argv[1:] + ["20", "60"][len(sys.argv) - 1:]))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(16, 32)
        self.head = torch.nn.Linear(32, 4)

    def forward(self, x):
        h = c = torch.zeros(x.shape[1], 32)
        for k in range(x.shape[0]):
            h, c = self.cell(x[k], (h, c))
        return self.head(h)


torch.set_num_threads(1)
torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(LENGTH, 8, 16), torch.randint(0, 4, (8,))
times = []
for _ in range(STEPS):
    begun = time.thread_time()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
    times.append(time.thread_time() - begun)
print(json.dumps({"steps": STEPS, "cells": STEPS * LENGTH, "cpu_s": times}))
