# SPDX-License-Identifier: MIT
"""Two ranks of DistributedDataParallel on this machine, started as torchrun does it: RANK and WORLD_SIZE in their environment. Rank 1 is late, by
so many milliseconds of sleep in each step where asked for.

    python ddp.py STEPS FOLDER [LATE_MS]"""

import os
import subprocess
import sys
import time

RANKS = 2


def launch(n_steps, folder, late_ms):
    ranks = [subprocess.Popen([sys.executable, __file__, str(n_steps), folder, str(late_ms)], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS)}) for rank in range(RANKS)]
    sys.exit(max(rank.wait() for rank in ranks))


def main(n_steps, folder, late_ms):
    import torch
    import torch.distributed as dist
    from torch import nn

    from truth import Truth

    truth = Truth()
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    with truth.phase("set-up"):
        torch.manual_seed(0)
        model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 8)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with truth.phase("training"):
        for _ in range(n_steps):
            x = torch.randn(32, 64)
            for _ in range(40 if rank else 1):  # the others wait for this one
                x = torch.tanh(x)
            time.sleep(late_ms / 1000 if rank else 0)
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.count("steps")
    dist.destroy_process_group()
    truth.tell(rank=rank)


if __name__ == "__main__":
    (main if "RANK" in os.environ else launch)(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0)
