"""What a pipeline is to do, all of it: frozen, units in the names. Two pipelines with equal settings give equal batches."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from unstall.base.errors import InvalidInputError
from unstall.data.augment.augmentations import Augmentation
from unstall.data.augment.geometry import Resize

Engine = Literal["threads", "tf.data"]
MIB = 2**20


def count_cores() -> int:
    """Those this process may use, not those of the machine."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    batch_size: int = 16
    # Of several processes that share each batch of the order, this one takes its part of it: so many images, as each does.
    rank: int = 0
    world_size: int = 1
    height_px: int = 640
    width_px: int = 640
    resize: Resize = "letterbox"  # stretch: the image's shape is given up, and nothing is filled
    fill_rgb: tuple[int, int, int] = (124, 116, 104)  # ImageNet's mean: zero after the usual normalisation
    max_boxes_per_image: int = 100  # of an image; further ones are left out and counted
    augmentations: tuple[Augmentation, ...] = ()
    min_kept_share: float = 0.1  # of a box's area; a box of which a crop leaves less is no longer to be learned
    # Training: shuffled, an incomplete last batch is left out, a bad example's place is taken by another. Otherwise: in the
    # file's order, each example once, and an empty place has the row -1.
    for_training: bool = True
    seed: int = 0
    engine: Engine = "threads"
    # At most; as many work as help. 0: one for each core and one more, as now and then one waits for a file.
    num_input_workers: int = 0
    prefetch_bytes: int = 256 * MIB  # of batches made ahead of the one in use
    cache_bytes: int = 0  # of decoded images, kept in memory, or on disk where a folder is named
    cache_dir: Path | None = None
    max_pixels: int = 100_000_000  # of an image; a larger one is refused before it is decoded
    max_bad_fraction: float = 0.05  # of the examples; with more of them unreadable the run stops
    max_example_s: float = 60.0  # a worker that needs longer for one example is taken for hung

    def __post_init__(self) -> None:
        for name in ("batch_size", "height_px", "width_px", "max_boxes_per_image", "prefetch_bytes", "max_pixels"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name}: expected 1 or more. Received: {getattr(self, name)}")
        for name in ("num_input_workers", "cache_bytes", "max_example_s"):
            if getattr(self, name) < 0:
                raise InvalidInputError(f"{name}: expected 0 or more. Received: {getattr(self, name)}")
        if not 0 <= self.rank < self.world_size:
            raise InvalidInputError(
                f"rank: expected 0 to {self.world_size - 1}, as world_size={self.world_size}. Received: {self.rank}"
            )
        for name in ("min_kept_share", "max_bad_fraction"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInputError(f"{name}: expected a share, 0 to 1. Received: {getattr(self, name)}")
        if not 0 <= self.seed < 2**64:
            raise InvalidInputError(f"seed: expected 0 to 2⁶⁴ - 1. Received: {self.seed}")
        for name, kind in (("resize", Resize), ("engine", Engine)):
            if getattr(self, name) not in get_args(kind):
                raise InvalidInputError(f"{name}: expected one of {', '.join(get_args(kind))}. Received: {getattr(self, name)!r}")
        if self.augmentations and not self.for_training:
            raise InvalidInputError(
                "augmentations: expected none where for_training is False: what is evaluated must not be changed."
            )

    @property
    def thread_count(self) -> int:
        return self.num_input_workers or count_cores() + 1
