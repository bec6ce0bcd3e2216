"""Not used to choose the advice's shares: images made channels-last and contiguous again for each of six filters.

    held_copies.py slow | fast [STEPS]
"""
import timed
import torch

MODE = timed.mode("slow", "fast")
torch.set_num_threads(1)
images = torch.randn(16, 24, 64, 64)
filters = [torch.randn(24, 4) for _ in range(6)]


def step():
    whole = images.permute(0, 2, 3, 1).contiguous() if MODE == "fast" else None
    total = 0
    for one in filters:
        pixels = images.permute(0, 2, 3, 1).contiguous() if MODE == "slow" else whole
        total = total + (pixels.view(-1, 24) @ one).amax()
    return total


timed.run(step, timed.steps(25))
