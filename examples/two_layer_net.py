"""A two-layer network trained by hand on random data: 500 steps of forward, loss, backward, update.

Needs torch. Run:  python two_layer_net.py [scale]   (scale 1 is 500 steps; 0.1 is 50)
"""

# what is wrong with it: in float64 each linear and its backward take twice the time; float32 is exact enough here
import sys

try:
    import torch
except ImportError:
    print("two_layer_net.py needs torch: pip install torch", file=sys.stderr)
    sys.exit(77)

BATCH, INPUTS, HIDDEN, OUTPUTS = 128, 1000, 200, 10
LEARNING_RATE = 1e-5
DTYPE = torch.float64


def make_parameters():
    w1 = torch.randn(HIDDEN, INPUTS, dtype=DTYPE) / INPUTS**0.5
    b1 = torch.zeros(HIDDEN, dtype=DTYPE)
    w2 = torch.randn(OUTPUTS, HIDDEN, dtype=DTYPE) / HIDDEN**0.5
    b2 = torch.zeros(OUTPUTS, dtype=DTYPE)
    return [p.requires_grad_() for p in (w1, b1, w2, b2)]


def forward(x, parameters):
    w1, b1, w2, b2 = parameters
    hidden = torch.nn.functional.linear(x, w1, b1).clamp(min=0)
    return torch.nn.functional.linear(hidden, w2, b2)


def squared_error(y_pred, y):
    return (y_pred - y).pow(2).sum()


def update(parameters):
    with torch.no_grad():
        for p in parameters:
            p -= LEARNING_RATE * p.grad
            p.grad.zero_()


def train(steps):
    x = torch.randn(BATCH, INPUTS, dtype=DTYPE)
    y = torch.randn(BATCH, OUTPUTS, dtype=DTYPE)
    parameters = make_parameters()
    first = loss = squared_error(forward(x, parameters), y)
    for _ in range(steps):
        loss = squared_error(forward(x, parameters), y)
        loss.backward()
        update(parameters)
    return first.item(), loss.item()


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    steps = max(1, round(500 * scale))
    torch.manual_seed(0)
    torch.set_num_threads(1)  # one core, so that runs compare
    first, last = train(steps)
    print(f"{steps} steps: loss {first:.4g} -> {last:.4g}")


if __name__ == "__main__":
    main()
