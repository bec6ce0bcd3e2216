# SPDX-License-Identifier: MIT
"""A small GAN: two optimizers of the same kind make one step together.

    python gan.py STEPS"""

import sys

import torch
from torch import nn

from truth import Truth

NOISE, WIDTH, BATCH = 8, 48, 64


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def main(n_steps):
    truth = Truth()
    torch.set_num_threads(1)
    with truth.phase("set-up"):
        maker, judge = mlp(NOISE, WIDTH, WIDTH, 2), mlp(2, WIDTH, WIDTH, 1)
        of_maker, of_judge = (torch.optim.Adam(m.parameters(), lr=2e-4) for m in (maker, judge))
        loss_of = nn.BCEWithLogitsLoss()
        ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    with truth.phase("training"):
        for _ in range(n_steps):
            real = torch.randn(BATCH, 2)
            made = maker(torch.randn(BATCH, NOISE))
            of_judge.zero_grad()
            (loss_of(judge(real), ones) + loss_of(judge(made.detach()), zeros)).backward()
            of_judge.step()
            of_maker.zero_grad()
            loss_of(judge(made), ones).backward()
            of_maker.step()
            truth.count("steps")
    truth.tell()


if __name__ == "__main__":
    main(int(sys.argv[1]))
