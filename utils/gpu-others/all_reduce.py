"""NCCL: a process for each GPU, up to two."""
from mneme_common import result  # before torch: it imports the hook

import os
import sys

import torch


def work(rank, count):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=count)
    x = torch.full((4096,), float(rank + 1), device="cuda")
    torch.distributed.all_reduce(x)
    if rank == 0:
        result(x)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    count = min(2, torch.cuda.device_count())
    if count == 1:
        work(0, 1)
    else:
        torch.multiprocessing.spawn(work, (count,), nprocs=count)
