import time

import leadline


def burn(seconds):
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        for row in range(300):
            total += row * row % 7
    return total


for batch in range(4):
    with leadline.region("load"):
        time.sleep(0.005)
    with leadline.region("step"):
        burn(0.03)
