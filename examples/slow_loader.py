"""Adds up batches that another thread loads; the one that adds up waits for the one that loads nearly all the time.
Look at it while it runs: leadline dump, leadline top.

Needs nothing. Run:  python slow_loader.py [scale]   (scale 1 takes about 4 seconds)
"""

# what is wrong with it: each batch is parsed from text, number by number, in one thread; load it in binary, or in processes
import queue
import sys
import threading

BATCHES = 400
NUMBERS = 20_000


def parse(line):
    return [float(word) for word in line.split(",")]


def load(batches, count):
    line = ",".join(str(i / 7) for i in range(NUMBERS))
    for _ in range(count):
        batches.put(parse(line))
    batches.put(None)


def train(batches):
    total = 0.0
    while True:
        batch = batches.get()
        if batch is None:
            return total
        total += sum(batch)


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    count = max(1, round(BATCHES * scale))
    batches = queue.Queue(maxsize=2)
    threading.Thread(target=load, args=(batches, count), name="loader").start()
    print(f"{count} batches of {NUMBERS} numbers: sum {train(batches):.0f}")


if __name__ == "__main__":
    main()
