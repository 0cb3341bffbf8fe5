"""Photographs with a note in their EXIF are seen as their annotations have them: turned, or as they are stored."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from tests.data.dataset_files import coco_box, coco_image, coco_text, put
from unstall.data import formats
from unstall.data.example import DataSet, ImageSource
from unstall.data.io.images import parse_header, turn_image
from unstall.data.io.reader import create_data_set
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.data.tools.visualization import decode_thumbnail

RED = (255, 0, 0)
WIDTH, HEIGHT = 64, 32  # as it is stored; a camera held upright took it
CORNER = (48, 0, 64, 16)  # of the stored image, which is red: at the right below, once EXIF 6 has turned it
CATS = [{"id": 1, "name": "corner"}]


def photograph(orientation: int = 6) -> bytes:
    image = Image.new("RGB", (WIDTH, HEIGHT), (0, 0, 80))
    image.paste(RED, CORNER)
    exif, out = Image.Exif(), io.BytesIO()
    exif[0x0112] = orientation
    image.save(out, "JPEG", exif=exif, quality=95)
    return out.getvalue()


def first_batch(data: DataSet, height: int, width: int) -> tuple[np.ndarray, list[float], list[int]]:
    pipeline_settings = PipelineSettings(
        batch_size=1, height_px=height, width_px=width, max_boxes_per_image=2, for_training=False
    )
    with Pipeline(data, pipeline_settings).batches() as batches:
        batch = next(iter(batches))
        return batch.images[0], batch.boxes[0, 0].tolist(), batch.sizes[0].tolist()


def share_of_red(pixels: np.ndarray, box: list[float]) -> float:
    left, top, right, bottom = (round(edge) for edge in box)
    inside = pixels[top:bottom, left:right].astype(int)
    return float(((inside[..., 0] > 150) & (inside[..., 2] < 100)).mean())


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_as_pillow_turns_it(orientation: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 3), dtype=np.uint8)
    image = Image.fromarray(pixels)
    image.getexif()[0x0112] = orientation
    np.testing.assert_array_equal(turn_image(pixels, orientation), np.asarray(ImageOps.exif_transpose(image)))


@pytest.mark.parametrize(
    ("size", "box", "canvas"),
    [
        ((HEIGHT, WIDTH), (16, 48, 16, 16), (WIDTH, HEIGHT)),  # labelled upright: right below
        ((WIDTH, HEIGHT), (48, 0, 16, 16), (HEIGHT, WIDTH)),  # labelled as it is stored: right above
    ],
)
def test_the_box_lies_on_its_object_whichever_image_it_was_drawn_on(
    tmp_path: Path, size: tuple[int, int], box: tuple[int, ...], canvas: tuple[int, int]
) -> None:
    image = coco_image(1, "a.jpg", width=size[0], height=size[1])
    data = formats.read(put(tmp_path, {"a.json": coco_text([image], [coco_box(1, box=box)], CATS), "a.jpg": photograph()}))
    pixels, found, seen = first_batch(data, *canvas)
    assert share_of_red(pixels, found) > 0.9
    assert seen == [size[1], size[0]]  # so what is found later is in the pixels of the annotation


def test_the_shares_of_yolo_are_of_the_turned_image(tmp_path: Path) -> None:
    files = {"images/a.jpg": photograph(), "labels/a.txt": "0 0.75 0.875 0.5 0.25\n", "data.yaml": "names: [corner]\n"}
    data = formats.read(put(tmp_path, files))
    assert data.examples[0].boxes.tolist() == [[16, 48, 32, 64]]
    pixels, found, _ = first_batch(data, WIDTH, HEIGHT)
    assert share_of_red(pixels, found) > 0.9
    formats.FORMATS.module("yolo").write(data, tmp_path / "copy")
    assert formats.read(tmp_path / "copy").examples[0].boxes.tolist() == [[16, 48, 32, 64]]


def test_an_image_without_annotations_is_seen_as_a_person_sees_it(tmp_path: Path) -> None:
    put(tmp_path, {"a.jpg": photograph(3)})
    pixels, _, _ = first_batch(create_data_set([tmp_path]), HEIGHT, WIDTH)
    assert share_of_red(pixels, [0, 16, 16, 32]) > 0.9  # on its head: left below
    opened = decode_thumbnail(ImageSource(tmp_path / "a.jpg"), 64)
    assert opened is not None and share_of_red(np.asarray(opened[0]), [0, 16, 16, 32]) > 0.9


def test_a_decoder_that_reduces_turns_as_well(tmp_path: Path) -> None:
    image = Image.open(io.BytesIO(photograph())).resize((WIDTH * 16, HEIGHT * 16))
    exif, out = Image.Exif(), io.BytesIO()
    exif[0x0112] = 8
    image.save(out, "JPEG", exif=exif)
    annotated = coco_image(1, "a.jpg", width=HEIGHT * 16, height=WIDTH * 16)
    text = coco_text([annotated], [coco_box(1, box=(0, 0, 256, 256))], CATS)
    pixels, found, _ = first_batch(formats.read(put(tmp_path, {"a.json": text, "a.jpg": out.getvalue()})), WIDTH, HEIGHT)
    assert found == [0, 0, 16, 16] and share_of_red(pixels, found) > 0.9


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_header_says_how_it_is_turned(orientation: int) -> None:
    found = parse_header(photograph(orientation))
    assert (found.width, found.height, found.turn) == (WIDTH, HEIGHT, orientation)
    assert found.seen_size == ((HEIGHT, WIDTH) if orientation >= 5 else (WIDTH, HEIGHT))
