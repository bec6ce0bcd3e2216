import time

import leadline.torch


def burn(seconds):
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        for row in range(300):
            total += row * row % 7
    return total


for batch in range(5):
    burn(0.03)
    leadline.torch.step(samples=32, tokens=4096)
