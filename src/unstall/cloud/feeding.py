"""What a machine's cores can feed to its card: images decoded a second, and the bytes that this reads.

The rate of one core is measured here, on a sample of the data; what the steps of a training take is known only where somebody has
measured them (`unstall preflight` on such a card), and is else unknown.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unstall.errors import BucketFailed

if TYPE_CHECKING:
    from unstall.data.example import DataSet

SAMPLE = 100  # images
KEPT_VCPUS = 1  # for the training itself: it hands out work and reads losses


@dataclass(frozen=True)
class Input:
    """Of a data set, as this machine found it. All None: nothing is read, or it could not be."""

    core_images_per_s: float | None = None  # decoded by one thread
    image_bytes: float | None = None
    read_images_per_s: float | None = None  # from a bucket, many at once, by this machine
    why_not: str = ""

    def images_per_s(self, vcpus: int) -> float | None:
        """That so many can decode."""
        return None if self.core_images_per_s is None else max(1, vcpus - KEPT_VCPUS) * self.core_images_per_s

    def bytes_per_s(self, images_per_s: float | None) -> float | None:
        return None if images_per_s is None or self.image_bytes is None else images_per_s * self.image_bytes

    def as_plain(self) -> dict[str, Any]:
        names = ("core_images_per_s", "image_bytes", "read_images_per_s", "why_not")
        return {name: getattr(self, name) for name in names}


def measured(data: DataSet | None) -> Input:
    if data is None:
        return Input(why_not="the embedded shapes are drawn, not read")
    from unstall.preflight.checks import bucket_speed, read_speed
    from unstall.storage import is_bucket

    sources = [each.image for each in data.examples if each.image is not None]
    if not sources:
        return Input(why_not="no image of the data is there")
    sample = random.Random(0).sample(sources, min(SAMPLE, len(sources)))
    try:
        raws = [len(each.read()) for each in sample[:10]]
        read = bucket_speed.measure(sample).images_per_s if is_bucket(data.path) else None
        decoded = read_speed.rate_of(read_speed.decode, sample, 1)
    except (BucketFailed, OSError) as failed:
        return Input(why_not=f"the data cannot be read from here: {failed}")
    return Input(decoded, sum(raws) / len(raws), read)
