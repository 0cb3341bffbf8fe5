"""Whether a bucket gives images as fast as the run takes them.

What is looked at
-----------------
Where the data lies in a bucket (gs://, s3://): how long it takes until a small read is answered, and how many images and bytes a
second come when a sample is read as the run reads it, many at once. Against it stands what the run takes: the images per second
of its own steps, where the check `learning_rate` has measured them, and else what these cores can decode.

Why it matters
--------------
A bucket in another region answers late, and one of many small files gives a fraction of what the link could carry: the
accelerator waits, and is paid for.

When this is wrong
------------------
A few seconds say nothing of a bucket that is slower in the evening, or limits those who read much. With `cache_bytes` for the
whole data set only the first epoch reads at all.

What to do
----------
Pack small files into shards (`unstall data pack SRC DST`), put the bucket into the region of the machine, copy the data to a
local disk, or keep decoded images with `cache_dir` and `cache_bytes`.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unstall.base.errors import BucketError
from unstall.base.formatting import format_rate
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckUnknown, CheckWarning, Context
from unstall.planning.preflight.checks.read_speed import ENOUGH, decode, measure_rate
from unstall.storage import is_bucket
from unstall.storage.bucket import AT_ONCE

if TYPE_CHECKING:
    from unstall.data.example import ImageSource

NEEDS = ("data_set",)
AFTER = ("learning_rate",)
IS_QUICK = False
SAMPLE = 400  # images
MAX_S = 4.0  # of reading
SMALL_READS = 5  # one after the other, for the latency
SMALL_BYTES = 1024
SMALL_FILE_BYTES = 2**20  # files below this, one for each image, gain by being packed


@dataclass(frozen=True)
class BucketSpeed:
    latency_s: float
    images_per_s: float
    bytes_per_s: float
    image_bytes: float
    has_small_files: bool  # each image is an object of its own, and small

    def as_facts(self, taken: float | None, decoded: float) -> dict[str, Any]:
        return {
            "latency_s": self.latency_s,
            "read_images_per_s": self.images_per_s,
            "read_bytes_per_s": self.bytes_per_s,
            "image_bytes": self.image_bytes,
            "has_small_files": self.has_small_files,
            "taken_images_per_s": taken,
            "decoded_images_per_s": decoded,
        }


def look(context: Context) -> CheckResult:
    if context.data is None or not is_bucket(context.data.path):
        return CheckOk("the data does not lie in a bucket")
    sources = [example.image for example in context.data.examples if example.image is not None]
    if not sources:
        return CheckUnknown("no image of the data is there")
    sample = random.Random(0).sample(sources, min(SAMPLE, len(sources)))
    try:
        measured = measure(sample)
        decoded = measure_rate(decode, sample[: 2 * AT_ONCE], context.num_input_workers)
    except BucketError as failed:
        return CheckError(str(failed), "see that this machine reaches the bucket and may read it")
    except OSError as error:
        return CheckUnknown(f"an image of the data is gone: {error}")
    return judge(measured, context.measured_images_per_s, decoded)


def measure(sample: Sequence[ImageSource]) -> BucketSpeed:
    waits = []
    for source in sample[:SMALL_READS]:
        began = time.perf_counter()
        replace(source, length=SMALL_BYTES).read()
        waits.append(time.perf_counter() - began)
    began = time.perf_counter()

    def size_within_time(source: ImageSource) -> int | None:
        if time.perf_counter() - began > MAX_S:
            return None
        try:
            return len(source.read())
        except OSError:
            return None  # an image that is not there is for data_set to name

    with ThreadPoolExecutor(AT_ONCE) as pool:
        sizes = [size for size in pool.map(size_within_time, sample) if size is not None]
    seconds = time.perf_counter() - began
    mean = sum(sizes) / max(1, len(sizes))
    is_small = mean < SMALL_FILE_BYTES and sample[0].length is None
    return BucketSpeed(statistics.median(waits), len(sizes) / seconds, sum(sizes) / seconds, mean, is_small)


def judge(measured: BucketSpeed, taken: float | None, decoded: float) -> CheckResult:
    facts = measured.as_facts(taken, decoded)
    if not measured.images_per_s:
        return CheckUnknown("none of the images that were tried could be read")
    wanted = taken if taken is not None else decoded
    by = "the training steps take" if taken is not None else "these cores can decode"
    megabytes = measured.bytes_per_s / 1e6
    carried = f"{megabytes:,.0f} MB/s" if megabytes >= 10 else f"{megabytes:.2g} MB/s"
    said = (
        f"{measured.images_per_s:,.0f} images/s ({carried}) are read, each answer comes after "
        f"{measured.latency_s * 1000:,.0f} ms; {by} {format_rate(wanted)}"
    )
    if measured.images_per_s >= (ENOUGH * wanted if taken is not None else wanted):
        return CheckOk(said, facts)
    if measured.has_small_files:
        said += f". Each image is a file of its own, of {measured.image_bytes / 1000:,.0f} kB"
        return CheckWarning(said, "unstall data pack SRC DST, or --cache-dir with --cache-bytes", facts)
    return CheckWarning(said, "a bucket in the region of this machine, or --cache-dir with --cache-bytes", facts)
