"""A transposed matrix made contiguous for each of many products.

    copies.py slow | fast | already | once [STEPS]
"""
import timed
import torch

MODE = timed.mode("slow", "fast", "already", "once")
torch.set_num_threads(1)
weight = torch.randn(768, 768)
whole = weight.t().contiguous()
parts = [torch.randn(8, 768) for _ in range(16)]
batch = torch.randn(1024, 768)


def step():
    if MODE == "once":
        return (batch @ weight.t().contiguous()).sum()
    total = 0
    for part in parts:
        if MODE == "slow":
            total = total + (part @ weight.t().contiguous()).sum()  # in the loop
        elif MODE == "already":
            total = total + (part @ whole.contiguous()).sum()
        else:
            total = total + (part @ whole).sum()
    return total


timed.run(step, timed.steps(20))
