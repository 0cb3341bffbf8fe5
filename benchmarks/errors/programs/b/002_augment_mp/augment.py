import random

import torch


class Compose:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


class RandomShift:
    def __init__(self, most=4):
        self.most = most

    def __call__(self, x):
        k = random.randint(-self.most, self.most)
        return torch.roll(x, k, dims=-1)


def training_pipeline(noise=0.05, gain=(0.8, 1.2)):
    return Compose(
        RandomShift(),
        lambda x: x * random.uniform(*gain),
        lambda x: x + noise * torch.randn_like(x),
    )
