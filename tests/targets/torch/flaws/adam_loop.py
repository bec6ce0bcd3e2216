"""Adam parameter by parameter, as it is by default on the CPU, on a VAE.

    adam_loop.py slow | fast | sgd | batch [STEPS]
"""
import timed
import torch
from torch import nn

MODE = timed.mode("slow", "fast", "sgd", "batch")
torch.set_num_threads(1)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 40))
        self.decode = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x):
        mean, log_var = self.encode(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        return self.decode(z), mean, log_var


model = VAE()
if MODE == "sgd":
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if MODE == "fast" else {}))
x = torch.rand(6144 if MODE == "batch" else 32, 784)


def step():
    out, mean, log_var = model(x)
    loss = (out - x).square().sum() - 0.5 * (1 + log_var - mean.square() - log_var.exp()).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


timed.run(step, timed.steps(4 if MODE == "batch" else 40), warm=1 if MODE == "batch" else 2)
