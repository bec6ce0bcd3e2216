"""Counts the pixels above many thresholds in patches image[a:b, a:b, :] of a thinned-out picture,
first on the patches as sliced (strided views), then on contiguous copies; prints both times.

Needs numpy. Run:  python strided_patches.py [scale]   (scale 1 takes 120 patches)
"""

# what is wrong with it: the view's pixels lie apart in memory, so each pass loads them one by one; copy a patch first
import sys
import time

try:
    import numpy as np
except ImportError:
    print("strided_patches.py needs numpy: pip install numpy", file=sys.stderr)
    sys.exit(77)

SIDE, STEP, PATCH = 4096, 4, 256
THRESHOLDS = range(0, 250, 5)


def count_above(patch):
    return sum(int(np.count_nonzero(patch > threshold)) for threshold in THRESHOLDS)


def strided_patches(image, corners):
    return sum(count_above(image[a : a + PATCH, a : a + PATCH, :]) for a in corners)


def contiguous_patches(image, corners):
    return sum(count_above(image[a : a + PATCH, a : a + PATCH, :].copy()) for a in corners)


def timed(function, *args):
    start = time.perf_counter()
    result = function(*args)
    return result, time.perf_counter() - start


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    random = np.random.default_rng(0)
    picture = random.integers(0, 256, size=(SIDE, SIDE, 3), dtype=np.uint8)
    image = picture[::STEP, ::STEP, :]  # a view: every fourth pixel of every fourth row
    corners = random.integers(0, SIDE // STEP - PATCH, size=max(1, round(120 * scale)))
    strided, strided_s = timed(strided_patches, image, corners)
    contiguous, contiguous_s = timed(contiguous_patches, image, corners)
    assert strided == contiguous
    print(f"{len(corners)} patches, {strided} pixels: strided {strided_s:.2f} s, contiguous {contiguous_s:.2f} s")


if __name__ == "__main__":
    main()
