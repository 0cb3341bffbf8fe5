import gc

import torch


class Arena:
    """Keeps us inside the memory share that the scheduler gave to this job."""

    def __init__(self, budget_bytes):
        self.budget = budget_bytes

    def reserve(self, *tensors):
        wanted = sum(t.numel() * t.element_size() for t in tensors)
        if wanted > self.budget:
            raise torch.OutOfMemoryError(
                f"out of memory. Tried to allocate {wanted / 2**20:.2f} MiB "
                f"({self.budget / 2**20:.2f} MiB free)"
            )


def find_batch_size(fn, start, smallest=1):
    size = start
    while size >= smallest:
        try:
            return size, fn(size)
        except RuntimeError as err:
            if "out of memory" not in str(err):
                raise
            print(f"batch size {size} does not fit: {err}")
            gc.collect()
            size //= 2
    raise MemoryError("not even the smallest batch fits")
