"""What a machine's cores can feed to its card: images made ready a second, and the bytes that this reads.

The rate of one core is measured here, by the training's own pipeline over the data; what the steps of a training take is known
only where somebody has measured them (`unstall preflight` on such a card), and is else unknown.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unstall.errors import BucketFailed, UnstallError

if TYPE_CHECKING:
    from unstall.data.example import DataSet
    from unstall.settings import Settings

SAMPLE = 100  # images that are read from a bucket
BATCH = 8  # images
MOST_CPU_S, MOST_S = 2.0, 8.0  # of making batches
KEPT_VCPUS = 1  # for the training itself: it hands out work and reads losses


@dataclass(frozen=True)
class Input:
    """Of a data set, as this machine found it. All None: nothing is read, or it could not be."""

    core_images_per_s: float | None = None  # decoded, augmented and brought to size, in a second of one core
    image_bytes: float | None = None
    read_images_per_s: float | None = None  # from a bucket, many at once, by this machine
    why_not: str = ""

    def images_per_s(self, vcpus: int) -> float | None:
        """That so many can make ready."""
        return None if self.core_images_per_s is None else max(1, vcpus - KEPT_VCPUS) * self.core_images_per_s

    def as_plain(self) -> dict[str, Any]:
        names = ("core_images_per_s", "image_bytes", "read_images_per_s", "why_not")
        return {name: getattr(self, name) for name in names}


def measured(data: DataSet | None, settings: Settings) -> Input:
    if data is None:
        return Input(why_not="the embedded shapes are drawn, not read")
    from unstall.preflight.checks import bucket_speed
    from unstall.storage import is_bucket

    sources = [each.image for each in data.examples if each.image is not None]
    if not sources:
        return Input(why_not="no image of the data is there")
    sample = random.Random(0).sample(sources, min(SAMPLE, len(sources)))
    try:
        sizes = [len(each.read()) for each in sample[:10]]
        read = bucket_speed.measure(sample).images_per_s or None if is_bucket(data.path) else None
        made = core_rate(data, settings)
    except (BucketFailed, OSError, UnstallError) as failed:
        return Input(why_not=f"the data cannot be read from here: {failed}")
    return Input(made, sum(sizes) / len(sizes), read)


def core_rate(data: DataSet, settings: Settings) -> float:
    """Images per second of CPU time: what waits for storage, or for other programs on this machine, does not count."""
    from unstall.data.augment.names import augmentations
    from unstall.data.pipeline import Pipeline
    from unstall.data.pipeline import Settings as PipelineSettings
    from unstall.detectors import pages

    height, width = settings.detector.get("image_px") or pages.image_px(settings.model)
    wanted = PipelineSettings(
        batch_size=min(BATCH, len(data.examples)), height_px=int(height), width_px=int(width), most_boxes=settings.most_boxes,
        augmentations=augmentations(settings.augment), input_threads=1,
    )  # fmt: skip
    images = 0
    with Pipeline(data, wanted).batches(epochs=None) as batches:
        next(batches)  # what is loaded for the first one is not its own
        began, cpu = time.monotonic(), time.process_time()
        while time.process_time() - cpu < MOST_CPU_S and time.monotonic() - began < MOST_S:
            next(batches)
            images += wanted.batch_size
        return images / max(1e-3, time.process_time() - cpu)
