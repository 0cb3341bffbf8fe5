from dataclasses import dataclass


@dataclass
class Config:
    image_size: int = 300
    batch_size: int = 4
    steps: int = 6
    fpn_channels: int = 32
    num_classes: int = 2
    learning_rate: float = 1e-3
