"""Data loaders that fork, pinned memory, several streams: what must go on as before."""
from mneme_common import result  # before torch: it imports the hook

import torch


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((256,), float(i) ** 2)


if __name__ == "__main__":
    side, total = torch.cuda.Stream(), torch.zeros(256, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    batches = torch.utils.data.DataLoader(Squares(), batch_size=8, num_workers=2, pin_memory=True)
    for batch in batches:
        with torch.cuda.stream(side):
            total += batch.cuda(non_blocking=True).sum(0)
    torch.cuda.synchronize()
    result(total)
