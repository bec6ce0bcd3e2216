"""Counts the points of a grid that belong to the Mandelbrot set, in nested loops over numbers.

Needs nothing. Run:  python numeric_loop.py [scale]   (scale 1 is a 600 x 600 grid)
"""

# what is wrong with it: the inner loop makes a new float object per operation; numba's @njit on escape_time avoids it
import sys

SIDE, LIMIT = 600, 200


def escape_time(cx, cy, limit):
    """How many steps of z = z * z + c stay within radius 2, at most limit."""
    x = y = 0.0
    for step in range(limit):
        xx = x * x
        yy = y * y
        if xx + yy > 4.0:
            return step
        y = 2.0 * x * y + cy
        x = xx - yy + cx
    return limit


def count_inside(side, limit):
    inside = 0
    for row in range(side):
        for column in range(side):
            cx = -2.0 + 2.5 * column / side
            cy = -1.25 + 2.5 * row / side
            if escape_time(cx, cy, limit) == limit:
                inside += 1
    return inside


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    side = max(1, round(SIDE * scale**0.5))
    print(f"{side} x {side} points: {count_inside(side, LIMIT)} in the set")


if __name__ == "__main__":
    main()
