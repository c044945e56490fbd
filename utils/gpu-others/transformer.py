"""A transformer block through torch.compile, forward and backward. Options: forward, graphs; bf16: larger, of mixed
precision, whose matrix products use tensor cores; profile: prints the GPU time of each kernel of a second step."""
from mneme_common import result  # before torch: it imports the hook

import sys

import torch

torch.manual_seed(0)
torch.use_deterministic_algorithms(True, warn_only=True)


class Block(torch.nn.Module):
    def __init__(self, d=256, h=4):
        super().__init__()
        self.n1, self.n2, self.h = torch.nn.LayerNorm(d), torch.nn.LayerNorm(d), h
        self.qkv, self.o = torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        self.up, self.down = torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
        q, k, v = (z.view(b, t, self.h, d // self.h).transpose(1, 2) for z in (q, k, v))
        # With a bias: else torch.compile replaces it by one kernel of a library.
        bias = torch.arange(t, device=x.device).float().mul(-0.01)
        w = torch.softmax(q @ k.transpose(-1, -2) / (d // self.h) ** 0.5 + bias, -1)
        x = x + self.o((w @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(torch.nn.functional.gelu(self.up(self.n2(x))))


mixed = "bf16" in sys.argv
block = Block(1024, 16).cuda() if mixed else Block().cuda()
model = torch.compile(block, mode="reduce-overhead" if "graphs" in sys.argv else None)
x = torch.rand(*((8, 512, 1024) if mixed else (4, 128, 256)), device="cuda", requires_grad=True)


def step():
    block.zero_grad()
    x.grad = None
    with torch.autocast("cuda", torch.bfloat16, enabled=mixed):
        y = model(x)
    y.float().square().mean().backward()
    return y


if "forward" in sys.argv:
    with torch.no_grad():
        result(model(x))
else:
    for _ in range(4 if "graphs" in sys.argv else 1):
        y = step()
        result(y, x.grad, *(p.grad for p in block.parameters()))
if "profile" in sys.argv:
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    for event in profile.key_averages():
        print("kernel", event.self_device_time_total, event.key)
