"""Calls a function that evaluates d = a + b * c, to be looked at one bytecode instruction at a time.

Needs nothing. Run:  python bytecode.py [scale]   (scale 1 makes 20 million calls)
"""

# what is wrong with it: the call costs more than the two operations inside; write a + b * c in the loop itself
import sys


def evaluate(a, b, c):
    d = a + b * c
    return d


def total(calls):
    result = 0
    for i in range(calls):
        result += evaluate(i, 2, 3)
    return result


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    calls = max(1, round(20_000_000 * scale))
    print(f"{calls} calls: total {total(calls)}")


if __name__ == "__main__":
    main()
