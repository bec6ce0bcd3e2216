import sys
import time


def turn(rows):
    total = 0
    for row in range(rows):
        total += row * row % 7
    return total


print("ready", flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    turn(500)
