"""A small convolutional network through torch.compile, forward and backward."""
from mneme_common import result  # before torch: it imports the hook

import torch

torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.SiLU(), torch.nn.AvgPool2d(2),
    torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.GroupNorm(4, 32), torch.nn.GELU(), torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(), torch.nn.Linear(32, 10)).cuda()
model = torch.compile(net)
x = torch.rand(8, 3, 64, 64, device="cuda")
loss = torch.nn.functional.cross_entropy(model(x), torch.arange(8, device="cuda"))
loss.backward()
result(loss, *(p.grad for p in net.parameters()))
