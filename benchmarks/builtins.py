"""Builtin-heavy: nothing but short C functions and methods."""
import sys
import time


def work(n):
    items = []
    for _ in range(n):
        items.append(ord("a"))
        items.append(ord("b"))
    return len(items)


if __name__ == "__main__":
    began = time.process_time()
    work(300000)
    sys.stderr.write("T %.4f\n" % (time.process_time() - began))
