"""Matrix products of cuBLAS."""
from mneme_common import result  # before torch: it imports the hook

import torch

torch.manual_seed(0)
a, b = (torch.rand(512, 512, device="cuda") for _ in range(2))
c, d = (torch.rand(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(2))
result(a @ b, c @ d)
