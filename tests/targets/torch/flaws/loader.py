"""What a DataLoader waits for: workers that start anew in each epoch, samples that take long, workers without a CPU.

    loader.py start | persistent | heavy | light | crowded | waits | more [EPOCHS]
"""
import os
import time

import timed
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

MODE = timed.mode("start", "persistent", "heavy", "light", "crowded", "waits", "more")
torch.set_num_threads(1)
CPUS = len(os.sched_getaffinity(0))
BATCHES, BATCH = 8, 8


class Samples(Dataset):
    def __len__(self):
        return BATCHES * BATCH

    def __getitem__(self, i):
        if MODE in ("heavy", "crowded"):
            return distort(i)
        if MODE in ("waits", "more"):
            time.sleep(0.004)  # a disk that is far away
        return torch.full((64,), float(i))


def distort(i):
    x = torch.full((64,), float(i))
    total = 0
    for k in range(40000):  # the loop that takes long
        total += k * i % 7  # the loop that takes long
    return x + total % 3


WORKERS = {"start": 2, "persistent": 2, "heavy": 0, "light": 0, "crowded": 4 * CPUS, "waits": 1, "more": 4}[MODE]
loader = DataLoader(Samples(), batch_size=BATCH, num_workers=WORKERS, persistent_workers=MODE != "start" and WORKERS > 0)
model = nn.Linear(64, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
ballast = torch.randn(400, 400)


def train():
    for x in loader:
        loss = model(x).square().mean()
        torch.mm(ballast, ballast)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    n = timed.steps(6)
    begun, cpu = time.perf_counter(), time.process_time()
    for _ in range(n):
        train()
    timed.tell(n * BATCHES, (time.process_time() - cpu) / n / BATCHES, time.perf_counter() - begun)
