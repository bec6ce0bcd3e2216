"""Scores many vectors against two matrices: two products that do not depend on one another.

Needs numpy. Run:  python independent_products.py [scale]   (scale 1 scores 2500 vectors)
"""

# what is wrong with it: left @ v and right @ v alternate and each reads a whole matrix; regroup as left @ V, right @ V
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core, so that runs compare
try:
    import numpy as np
except ImportError:
    print("independent_products.py needs numpy: pip install numpy", file=sys.stderr)
    sys.exit(77)

SIZE = 1200


def score(left, right, vector):
    a = left @ vector
    b = right @ vector  # needs nothing from the line above
    return float(a @ b)


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    count = max(1, round(2500 * scale))
    random = np.random.default_rng(0)
    left = random.standard_normal((SIZE, SIZE))
    right = random.standard_normal((SIZE, SIZE))
    vectors = random.standard_normal((count, SIZE))
    best = max(score(left, right, vector) for vector in vectors)
    print(f"{count} vectors: best score {best:.3f}")


if __name__ == "__main__":
    main()
