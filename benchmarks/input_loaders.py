"""The ways to feed a training that benchmarks/input compares, each as people write it.

Every one gives batches of 640×640 letterboxed images with their boxes, and says how many images a batch has.

    python -m benchmarks.input_loaders WAY FOLDER [augmented]

answers each line on its standard input ('SECONDS') with the images and the seconds that it took: benchmarks/input lets
one run at a time.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SIDE_PX = 640
BATCH = 16
BOXES = 7  # of an image, as in COCO


def boxes_of(index: int) -> np.ndarray:
    """As shares of the image: (left, top, right, bottom)."""
    random = np.random.default_rng(index)
    corner = random.random((BOXES, 2)) * 0.7
    return np.concatenate([corner, corner + 0.05 + random.random((BOXES, 2)) * 0.25], axis=1)


def images(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jpg"))


# --- tf.data, as the guides say -----------------------------------------------------------------------------------


def tf_dataset(folder: Path, augmented: bool, is_parallel: bool) -> Iterator[int]:
    import tensorflow as tf

    paths = images(folder)
    boxes = np.stack([boxes_of(index) for index in range(len(paths))])[:, :, [1, 0, 3, 2]].astype(np.float32)

    def load(path: Any, boxes: Any) -> tuple[Any, Any]:
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        if augmented:
            image, boxes = tf_augmented(tf, image, boxes)
        return tf.image.resize_with_pad(image, SIDE_PX, SIDE_PX), boxes

    dataset = tf.data.Dataset.from_tensor_slices(([str(path) for path in paths], boxes)).shuffle(len(paths)).repeat()
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE if is_parallel else None).batch(BATCH, drop_remainder=True)
    if is_parallel:
        dataset = dataset.prefetch(tf.data.AUTOTUNE)
    for batch, _ in dataset:
        yield len(batch)


def tf_augmented(tf: Any, image: Any, boxes: Any) -> tuple[Any, Any]:
    """SSD's distortion, crop and flip with TensorFlow's own operations."""

    def sometimes(change: Callable[[Any], Any], image: Any) -> Any:
        return tf.cond(tf.random.uniform(()) < 0.5, lambda: change(image), lambda: image)

    image = sometimes(lambda pixels: tf.image.random_brightness(pixels, 32 / 255), image)
    image = sometimes(lambda pixels: tf.image.random_contrast(pixels, 0.5, 1.5), image)
    image = sometimes(lambda pixels: tf.image.random_saturation(pixels, 0.5, 1.5), image)
    image = sometimes(lambda pixels: tf.image.random_hue(pixels, 0.05), image)
    begin, size, window = tf.image.sample_distorted_bounding_box(
        tf.shape(image), boxes[None], min_object_covered=0.5, aspect_ratio_range=(0.5, 2.0), area_range=(0.09, 1.0)
    )
    image = tf.slice(image, begin, size)
    top, left, bottom, right = tf.unstack(window[0, 0])
    scale = tf.stack([bottom - top, right - left, bottom - top, right - left])
    boxes = tf.clip_by_value((boxes - tf.stack([top, left, top, left])) / scale, 0.0, 1.0)
    if tf.random.uniform(()) < 0.5:
        image = tf.image.flip_left_right(image)
        boxes = tf.stack([boxes[:, 0], 1 - boxes[:, 3], boxes[:, 2], 1 - boxes[:, 1]], axis=1)
    return image, boxes


def plain_loop(folder: Path, augmented: bool) -> Iterator[int]:
    return tf_dataset(folder, augmented, is_parallel=False)


def autotune(folder: Path, augmented: bool) -> Iterator[int]:
    return tf_dataset(folder, augmented, is_parallel=True)


# --- PyTorch and Keras ---------------------------------------------------------------------------------------------


class Letterboxed:
    """A map-style data set over OpenCV."""

    def __init__(self, folder: Path) -> None:
        self.paths = images(folder)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        import cv2

        pixels = cv2.cvtColor(cv2.imread(str(self.paths[index])), cv2.COLOR_BGR2RGB)  # type: ignore[arg-type]
        scale = SIDE_PX / max(pixels.shape[:2])
        if scale != 1:
            pixels = cv2.resize(pixels, None, fx=scale, fy=scale)
        below, right = SIDE_PX - pixels.shape[0], SIDE_PX - pixels.shape[1]
        return cv2.copyMakeBorder(pixels, 0, below, 0, right, cv2.BORDER_CONSTANT), boxes_of(index).astype(np.float32)


def torch_loader(folder: Path, augmented: bool) -> Iterator[int]:
    import cv2
    import torch

    loader = torch.utils.data.DataLoader(
        Letterboxed(folder),
        batch_size=BATCH,
        shuffle=True,
        num_workers=2,
        drop_last=True,
        persistent_workers=True,
        worker_init_fn=lambda _: cv2.setNumThreads(0),
    )
    while True:
        for batch, _ in loader:
            yield len(batch)


def keras_pydataset(folder: Path, augmented: bool) -> Iterator[int]:
    import keras
    from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

    paths = images(folder)

    class Pictures(keras.utils.PyDataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(paths) // BATCH

        def __getitem__(self, batch: int) -> tuple[Any, Any]:
            chosen = range(batch * BATCH, (batch + 1) * BATCH)
            pictures = [keras.utils.load_img(paths[index]) for index in chosen]
            for picture in pictures:
                picture.thumbnail((SIDE_PX, SIDE_PX))
            canvas = np.zeros((BATCH, SIDE_PX, SIDE_PX, 3), np.float32)
            for place, picture in enumerate(pictures):
                canvas[place, : picture.height, : picture.width] = keras.utils.img_to_array(picture)
            return canvas, np.stack([boxes_of(index) for index in chosen])

    adapter = PyDatasetAdapter(Pictures(workers=2, use_multiprocessing=False, max_queue_size=10), shuffle=True)
    while True:
        adapter.on_epoch_begin()
        for batch, _ in adapter.get_numpy_iterator():
            yield len(batch)
        adapter.on_epoch_end()


# --- Unstall, and the limit ---------------------------------------------------------------------------------------


def unstall_pipeline(folder: Path, augmented: bool, engine: Any, cache_bytes: int = 0, cache: str = "cache") -> Any:
    from PIL import Image

    from unstall.data.augment.augmentations import HorizontalFlip, IoUCrop, PhotometricDistort
    from unstall.data.example import DataSet, Example, ImageSource, Origin
    from unstall.data.pipeline import Pipeline, PipelineSettings

    examples = []
    for index, path in enumerate(images(folder)):
        if index == 0:
            width, height = Image.open(path).size
        none = np.zeros(BOXES, np.bool_)
        scaled = boxes_of(index) * (width, height, width, height)
        classes = np.zeros(BOXES, np.int32)
        examples.append(Example(path.name, ImageSource(path), width, height, scaled, classes, none, none, none, Origin("")))
    pipeline_settings = PipelineSettings(
        batch_size=BATCH,
        height_px=SIDE_PX,
        width_px=SIDE_PX,
        augmentations=(PhotometricDistort(), IoUCrop(), HorizontalFlip()) if augmented else (),
        engine=engine,
        cache_bytes=cache_bytes,
        cache_dir=folder.parent / cache,
    )
    return Pipeline(DataSet(folder, "", ("thing",), (1,), examples), pipeline_settings)


def unstall_threads(folder: Path, augmented: bool) -> Iterator[int]:
    for batch in unstall_pipeline(folder, augmented, "threads").batches(epochs=None):
        yield len(batch.images)


def unstall_tfdata(folder: Path, augmented: bool) -> Iterator[int]:
    for batch in unstall_pipeline(folder, augmented, "tf.data").batches(epochs=None):
        yield len(batch.images)


def unstall_disk_cache(folder: Path, augmented: bool) -> Iterator[int]:
    """Every epoch but the first, with a cache on disk of the images at the size that they are needed in."""
    for batch in unstall_pipeline(folder, augmented, "threads", cache_bytes=2**30).batches(epochs=None):
        if batch.epoch > 0:
            yield len(batch.images)


def unstall_five_epochs(folder: Path, augmented: bool) -> Iterator[int]:
    """Trainings of five epochs, each with such a cache that is empty at its beginning: filling it is part of the time."""
    while True:
        shutil.rmtree(folder.parent / "cache-of-one-training", ignore_errors=True)
        pipeline = unstall_pipeline(folder, augmented, "threads", cache_bytes=2**30, cache="cache-of-one-training")
        with pipeline.batches(epochs=5) as batches:
            for batch in batches:
                yield len(batch.images)


def limit(folder: Path, augmented: bool, part: int = 1) -> Iterator[int]:
    """Decoding alone: bytes in memory, the quickest decoder, each thread into the same warm buffer, nothing else done."""
    import simplejpeg

    encoded = [path.read_bytes() for path in images(folder)]
    height, width, _, _ = simplejpeg.decode_jpeg_header(encoded[0])
    shape, counts = (math.ceil(height / part), math.ceil(width / part), 3), [0, 0]

    def decode(number: int) -> None:
        buffer, index = np.empty(shape, np.uint8), number
        while True:
            one = encoded[index % len(encoded)]
            simplejpeg.decode_jpeg(one, "RGB", min_height=shape[0], min_width=shape[1], buffer=buffer)
            counts[number], index = counts[number] + 1, index + 1

    for number in range(2):
        threading.Thread(target=decode, args=(number,), daemon=True).start()
    before = 0
    while True:
        time.sleep(0.02)
        now = sum(counts)
        yield now - before
        before = now


def limit_at_an_eighth(folder: Path, augmented: bool) -> Iterator[int]:
    """One pixel of each block of 64: what is left is reading the bits, which no decoder can leave out."""
    return limit(folder, augmented, part=8)


WAYS: dict[str, Callable[[Path, bool], Iterator[int]]] = {
    "plain loop": plain_loop,
    "AUTOTUNE recipe": autotune,
    "torch DataLoader": torch_loader,
    "Keras PyDataset": keras_pydataset,
    "Unstall threads": unstall_threads,
    "Unstall tf.data": unstall_tfdata,
    "Unstall disk cache": unstall_disk_cache,
    "Unstall disk cache, 5 epochs": unstall_five_epochs,
    "limit": limit,
    "limit at an eighth": limit_at_an_eighth,
}


def main() -> None:
    way, folder, *rest = sys.argv[1:]
    counts = WAYS[way](Path(folder), "augmented" in rest)
    next(counts)
    print("ready", flush=True)
    for line in sys.stdin:
        seconds, made = float(line), 0
        next(counts)  # whatever lay ready when it was stopped
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            made += next(counts)
        print(made, time.perf_counter() - began, flush=True)
    os._exit(0)  # some of them would wait for their workers


if __name__ == "__main__":
    main()
