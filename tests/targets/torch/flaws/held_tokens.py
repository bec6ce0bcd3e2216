"""Not used to choose the advice's shares: two layers called once for each of 40 tokens, within a model that does more than that.

    held_tokens.py slow | fast [STEPS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast")
torch.set_num_threads(1)
BATCH, TOKENS, WIDTH = 12, 40, 64
embed = nn.Embedding(500, WIDTH)
up, down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
norm, head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 500)
optimizer = torch.optim.SGD([p for one in (embed, up, down, norm, head) for p in one.parameters()], lr=0.01)
words = torch.randint(0, 500, (BATCH, TOKENS))


def mix(x):
    return x + down(torch.nn.functional.gelu(up(x)))


def step():
    x = embed(words)
    if MODE == "fast":
        x = mix(x)
    else:
        x = torch.stack([mix(token) for token in x.unbind(1)], 1)
    loss = nn.functional.cross_entropy(head(norm(x)).view(-1, 500), words.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


timed.run(step, timed.steps(25))
