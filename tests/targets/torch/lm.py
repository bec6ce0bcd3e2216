# SPDX-License-Identifier: MIT
"""A small language model whose set-up takes longer than its training: a corpus, a tokenizer, a model, what an optimizer imports.

    python lm.py STEPS"""

import sys
import time

BEGAN = time.monotonic()

import torch
from torch import nn

from truth import Truth

VOCABULARY, WIDTH, LENGTH, BATCH = 64, 32, 24, 8


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.0, batch_first=True) for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def corpus():
    """Operators of its own, some of which come in the training, too."""
    table = torch.randn(VOCABULARY, VOCABULARY)
    for _ in range(200):
        table = torch.tanh(table @ table / 8)
    return torch.randint(0, VOCABULARY, (4000,))


def main(n_steps):
    truth = Truth()
    truth.seconds["imports"] = time.monotonic() - BEGAN
    torch.set_num_threads(1)
    with truth.phase("set-up"):
        data = corpus()
        model = Model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        loss_of = nn.CrossEntropyLoss()
    with truth.phase("training"):
        for _ in range(n_steps):
            at = torch.randint(0, len(data) - LENGTH - 1, (BATCH,))
            x = torch.stack([data[i:i + LENGTH] for i in at.tolist()])
            y = torch.stack([data[i + 1:i + LENGTH + 1] for i in at.tolist()])
            loss = loss_of(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.count("steps")
            loss.item()
    truth.tell()


if __name__ == "__main__":
    main(int(sys.argv[1]))
