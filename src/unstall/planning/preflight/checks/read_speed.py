"""Whether the storage gives images as fast as the run takes them.

What is looked at
-----------------
A sample of the images is read as the run would read them, by as many threads at once, past the cache of the system where it
allows that. Against it stands what the run takes: the images per second of its own steps, where the check `learning_rate` has
measured them, and else what these cores can decode, which is the most that an input can give.

Why it matters
--------------
Network storage gives a tenth of what a disk gives, file by file. The accelerator then waits, and the run takes days rather
than hours.

When this is wrong
------------------
A few seconds of reading say nothing of a storage that slows down after a while, or in the evening. With `cache_bytes` for the
whole data set only the first epoch reads at all.

What to do
----------
Copy the data to a local disk, pack it into records (`unstall data pack`), or keep decoded images with
`cache_dir` and `cache_bytes`.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from unstall.base.formatting import format_rate
from unstall.planning.preflight.check import CheckOk, CheckResult, CheckUnknown, CheckWarning, Context
from unstall.storage import is_bucket

if TYPE_CHECKING:
    from unstall.data.example import ImageSource

NEEDS = ("data_set",)
AFTER = ("learning_rate",)
IS_QUICK = False
SAMPLE = 200  # images
MAX_S = 4.0  # of reading, and of decoding
ENOUGH = 1.2  # times what is taken: storage is not equally fast all the time


def look(context: Context) -> CheckResult:
    if context.data is None:
        return CheckOk("the embedded shapes are drawn, not read")
    sources = [example.image for example in context.data.examples if example.image is not None]
    if not sources:
        return CheckUnknown("no image of the data is there")
    if is_bucket(sources[0].path):
        return CheckOk("the images lie in a bucket, which bucket_speed measures")
    sample = random.Random(0).sample(sources, min(SAMPLE, len(sources)))
    read = measure_rate(_read_past_the_cache, sample, context.num_input_workers)
    decoded = measure_rate(decode, sample, context.num_input_workers)
    return judge(read, context.measured_images_per_s, decoded, _bytes_each(sample))


def judge(read: float, taken: float | None, decoded: float, bytes_each: float) -> CheckResult:
    facts = {"read_images_per_s": read, "taken_images_per_s": taken, "decoded_images_per_s": decoded, "image_bytes": bytes_each}
    wanted = taken if taken is not None else decoded
    by = "the training steps take" if taken is not None else "these cores can decode"
    said = f"{read:,.0f} images/s ({read * bytes_each / 1e6:,.0f} MB/s) are read; {by} {format_rate(wanted)}"
    if taken is not None and decoded < taken:
        return CheckWarning(
            f"{said}, and {decoded:,.0f} are decoded: the input would be waited for", "--cache-bytes and --cache-dir", facts
        )
    if read < ENOUGH * wanted and (taken is not None or read < wanted):
        return CheckWarning(said, "a local copy of the data, or --cache-dir with --cache-bytes", facts)
    return CheckOk(said, facts)


def measure_rate(work: Callable[[ImageSource], None], sample: Sequence[ImageSource], threads: int) -> float:
    """Images per second, of as many as the time allows."""
    began = time.perf_counter()
    done = 0

    def within_time(source: ImageSource) -> bool:
        if time.perf_counter() - began > MAX_S:
            return False
        work(source)
        return True

    with ThreadPoolExecutor(threads) as pool:
        done = sum(pool.map(within_time, sample))
    return max(done, 1) / (time.perf_counter() - began)


def _read_past_the_cache(source: ImageSource) -> None:
    """The system is asked to forget the file first: a second reading would else measure memory."""
    try:
        with source.path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), source.offset, source.length or 0, os.POSIX_FADV_DONTNEED)
        source.read()
    except OSError:
        return  # an image that is not there is for data_set to name


def decode(source: ImageSource) -> None:
    from unstall.data.check.images import look as look_at_image

    look_at_image(source)


def _bytes_each(sample: Sequence[ImageSource]) -> float:
    sizes = [source.length or (source.path.stat().st_size if source.path.is_file() else 0) for source in sample]
    return sum(sizes) / len(sizes)
