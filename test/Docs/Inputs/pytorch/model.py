import torch

import scale_ext

print(scale_ext.scaled(torch.arange(1000, dtype=torch.float32), 3.0)[10].item())
