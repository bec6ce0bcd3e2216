# SPDX-License-Identifier: MIT
"""A small CNN: epochs of a DataLoader, validation and a checkpoint after each of them; gradients of several batches, where asked for.

    python cnn.py EPOCHS [BATCHES_PER_STEP]"""

import sys
import tempfile
import time

BEGAN = time.monotonic()

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from truth import Truth

BATCH, TRAIN, CHECK = 16, 12, 8  # batches


def main(n_epochs, n_micro):
    truth = Truth()
    truth.seconds["imports"] = time.monotonic() - BEGAN
    torch.set_num_threads(1)
    with truth.phase("set-up"):
        def loader(n):
            return DataLoader(TensorDataset(torch.randn(n * BATCH, 3, 24, 24), torch.randint(0, 10, (n * BATCH,))), batch_size=BATCH)

        train, check = loader(TRAIN * n_micro), loader(CHECK)
        model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        ballast = [torch.randn(3000000) for _ in range(8)]  # what makes a checkpoint take its time
        loss_of = nn.CrossEntropyLoss()
    for _ in range(n_epochs):
        with truth.phase("training"):
            model.train()
            for number, (x, y) in enumerate(train, 1):
                (loss_of(model(x), y) / n_micro).backward()
                if number % n_micro == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    truth.count("steps")
        with truth.phase("validation"), torch.no_grad():
            model.eval()
            right = 0
            for x, y in check:
                right += (model(x).argmax(1) == y).sum().item()
                truth.count("validation_batches")
        with truth.phase("saving"), tempfile.TemporaryFile() as file:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "ballast": ballast}, file)
    truth.tell(micro_batches=n_micro)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
