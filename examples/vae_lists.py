"""Trains a small variational autoencoder on made-up 28 x 28 images of bright squares.

Needs torch. Run:  python vae_lists.py [scale]   (scale 1 is 16 epochs)
"""

# what is wrong with it: the images are Python lists, made a tensor anew in each step; convert once, before the loop
import random
import sys

try:
    import torch
except ImportError:
    print("vae_lists.py needs torch: pip install torch", file=sys.stderr)
    sys.exit(77)
from torch import nn

SIDE, IMAGES, BATCH = 28, 1024, 64
HIDDEN, LATENT = 64, 8
LEARNING_RATE = 1e-4


def make_image():
    """One image as a flat list of SIDE * SIDE brightnesses: a bright square on dark ground."""
    size = random.randint(6, 14)
    top, left = random.randrange(SIDE - size), random.randrange(SIDE - size)
    bright = [0.1] * left + [0.9] * size + [0.1] * (SIDE - size - left)
    image = []
    for y in range(SIDE):
        image.extend(bright if top <= y < top + size else [0.1] * SIDE)
    return image


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(SIDE * SIDE, HIDDEN)
        self.mean = nn.Linear(HIDDEN, LATENT)
        self.log_variance = nn.Linear(HIDDEN, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, SIDE * SIDE), nn.Sigmoid())

    def encode(self, x):
        hidden = torch.relu(self.encoder(x))
        return self.mean(hidden), self.log_variance(hidden)

    def forward(self, x):
        mean, log_variance = self.encode(x)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(z), mean, log_variance


def vae_loss(reconstruction, x, mean, log_variance):
    error = nn.functional.binary_cross_entropy(reconstruction, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return error + divergence


def update(model):
    with torch.no_grad():
        for p in model.parameters():
            p -= LEARNING_RATE * p.grad


def train_step(model, images):
    x = torch.tensor(images)
    reconstruction, mean, log_variance = model(x)
    loss = vae_loss(reconstruction, x, mean, log_variance)
    model.zero_grad()
    loss.backward()
    update(model)
    return loss.item()


def train_epoch(model, data_set):
    total = 0.0
    for start in range(0, len(data_set), BATCH):
        total += train_step(model, data_set[start : start + BATCH])
    return total / len(data_set)


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    epochs = max(1, round(16 * scale))
    random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)  # one core, so that runs compare
    data_set = [make_image() for _ in range(IMAGES)]
    model = VAE()
    losses = [train_epoch(model, data_set) for _ in range(epochs)]
    print(f"{epochs} epochs: loss per image {losses[0]:.1f} -> {losses[-1]:.1f}")


if __name__ == "__main__":
    main()
