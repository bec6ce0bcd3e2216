"""Evaluates x * y * 100 + 10 and a few more element-wise steps on two large tensors.

Needs torch. Run:  python pointwise_chain.py [scale]   (scale 1 evaluates the chain 50 times)
"""

# what is wrong with it: each operator writes a whole new tensor to memory; fuse the chain (torch.compile) or use out=
import sys

try:
    import torch
except ImportError:
    print("pointwise_chain.py needs torch: pip install torch", file=sys.stderr)
    sys.exit(77)

ELEMENTS = 4_000_000


def chain(x, y):
    z = x * y * 100 + 10
    return (z - x) * 0.5 + y


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = max(1, round(50 * scale))
    torch.manual_seed(0)
    torch.set_num_threads(1)  # one core, so that runs compare
    x = torch.rand(ELEMENTS)
    y = torch.rand(ELEMENTS)
    for _ in range(rounds):
        z = chain(x, y)
    print(f"{rounds} rounds over {ELEMENTS} elements: mean {z.mean().item():.4f}")


if __name__ == "__main__":
    main()
