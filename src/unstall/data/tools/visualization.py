"""Pictures of examples with their boxes and names: for the pages and the contact sheet."""

from __future__ import annotations

import colorsys
import io
from collections.abc import Collection, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unstall.base.errors import InvalidInputError
from unstall.data.check.images import LARGEST_BYTES, LARGEST_PIXELS
from unstall.data.example import DataSet, Example, ImageSource
from unstall.data.io.images import AS_STORED, UNREADABLE, Size, find_turn, turn_image, turn_size
from unstall.data.tools.split import list_rows
from unstall.storage.transfer import open_target

Picture = npt.NDArray[np.uint8]

MAX_BOXES = 300  # drawn in one picture
MARK = (255, 32, 32)  # of what is wrong
GROUND = (38, 38, 42)
FONT_SIZE = 10  # pixels
_MARGIN = 6


def decode_thumbnail(source: ImageSource, side: int, said: Size = (None, None)) -> tuple[Any, float] | None:
    """RGB as Pillow has it, made small to fit a square, and by how much. What is cut off stays grey. None: not possible.
    Turned as its EXIF says where the size that its annotation `said` is that of the turned image, or it has none."""
    from PIL import Image, ImageFile

    try:
        size = source.length if source.length is not None else source.path.stat().st_size
        if size > LARGEST_BYTES:
            return None
        encoded = source.read()
        parser = Image.open(io.BytesIO(encoded))
        width, height = parser.size
        if width * height > LARGEST_PIXELS:
            return None
        parser.draft("RGB", (side, side))  # a JPEG is decoded at a fraction of its size
        image = _whole_or_part(parser, ImageFile)
    except (*UNREADABLE, Image.DecompressionBombError):
        return None
    turn = find_turn(encoded, (width, height), said)
    if turn != AS_STORED:
        image = Image.fromarray(turn_image(np.asarray(image), turn))
        width, height = turn_size((width, height), turn)
    scale = min(1.0, side / max(width, height))
    return image.resize((max(1, round(width * scale)), max(1, round(height * scale)))), scale


def _whole_or_part(image: Any, image_file: Any) -> Any:
    """As much as there is of it."""
    before = image_file.LOAD_TRUNCATED_IMAGES
    image_file.LOAD_TRUNCATED_IMAGES = True
    try:
        if image.mode.startswith("I"):
            array = np.asarray(image).astype(np.float64)
            from PIL import Image

            return Image.fromarray((array * (255 / max(1.0, float(array.max())))).astype(np.uint8)).convert("RGB")
        return image.convert("RGB")
    finally:
        image_file.LOAD_TRUNCATED_IMAGES = before


def choose_colour(number: int) -> tuple[int, int, int]:
    """Far from those of the neighbours; never the red that marks what is wrong."""
    hue = 0.08 + 0.84 * ((number * 0.61803398875 + 0.3) % 1.0)
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.75, 1.0)
    return round(red * 255), round(green * 255), round(blue * 255)


def draw_boxes(example: Example, classes: Sequence[str], side: int, marked: Collection[int] = (), has_frame: bool = False) -> Any:
    """An RGB picture; a dark one where the image cannot be decoded. Marked boxes are red, and drawn last.

    With a frame there is room for boxes that reach out of their image.
    """
    from PIL import Image, ImageDraw

    found = decode_thumbnail(example.image, side, (example.width, example.height)) if example.image is not None else None
    if found is None:
        width, height = example.width or side, example.height or side
        scale = side / max(width, height)
        found = Image.new("RGB", (max(1, round(width * scale)), max(1, round(height * scale))), GROUND), scale
    image, scale = found
    # Boxes in shares of a size that was not known are shares of the picture.
    size = np.array([image.width / scale, image.height / scale] * 2) if example.is_normalised else np.ones(4)
    room = _room(example, marked, scale, side) if has_frame else 0
    if room:
        framed = Image.new("RGB", (image.width + 2 * room, image.height + 2 * room), GROUND)
        framed.paste(image, (room, room))
        image = framed
    draw = ImageDraw.Draw(image)
    order = sorted(range(example.count), key=lambda box: (box in marked, box))
    for box in order[-MAX_BOXES:]:
        edges = example.boxes[box] * size * scale + room
        if np.isfinite(edges).all():
            number = int(example.classes[box])
            colour = MARK if box in marked else choose_colour(number)
            draw_box(draw, edges, colour, classes[number] if 0 <= number < len(classes) else "?")
    return image


def _room(example: Example, marked: Collection[int], scale: float, side: int) -> int:
    """Pixels around the picture that show how far the marked boxes reach out; at most as much as the picture itself."""
    boxes = example.boxes[sorted(marked)]
    boxes = boxes[np.isfinite(boxes).all(axis=1)]
    size = np.array([example.width or np.inf, example.height or np.inf] * 2)
    beyond = max(float((-boxes).max(initial=0.0)), float((boxes - size).max(initial=0.0))) * scale
    return 0 if beyond < 1 else round(min(beyond + 8, side))


def draw_box(draw: Any, edges: npt.NDArray[np.float64], colour: tuple[int, int, int], name: str) -> None:
    left, right = sorted(np.clip(edges[[0, 2]], -1e4, 1e5).tolist())
    top, bottom = sorted(np.clip(edges[[1, 3]], -1e4, 1e5).tolist())
    draw.rectangle([left, top, max(left, right - 1), max(top, bottom - 1)], outline=colour, width=2)
    text = name if len(name) <= 24 else name[:23] + "…"
    x, y = max(0.0, left), max(0.0, top - 12)
    draw.rectangle(draw.textbbox((x + 2, y), text, load_font()), fill=colour)
    draw.text((x + 2, y), text, (0, 0, 0) if sum(colour) > 330 else (255, 255, 255), load_font())


@cache
def load_font() -> Any:
    """With the letters of most alphabets: names are written in the language of whoever gave them. Pillow's own has English
    ones; matplotlib, which draws the plots, brings one that has more."""
    from PIL import ImageFont

    plots = find_spec("matplotlib")
    folder = Path(plots.origin).parent if plots is not None and plots.origin else Path()
    try:
        return ImageFont.truetype(str(folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"), FONT_SIZE)
    except OSError:
        return ImageFont.load_default()


def draw_sheet(pictures: Sequence[tuple[str, Any]], columns: int, side: int) -> Any:
    """All pictures in rows, each with its name below."""
    from PIL import Image, ImageDraw

    cell_width, cell_height = side + 2 * _MARGIN, side + 2 * _MARGIN + 14
    rows = -(-len(pictures) // columns)
    result = Image.new("RGB", (columns * cell_width, rows * cell_height), (24, 24, 27))
    draw = ImageDraw.Draw(result)
    for number, (name, picture) in enumerate(pictures):
        x, y = number % columns * cell_width + _MARGIN, number // columns * cell_height + _MARGIN
        result.paste(picture, (x + (side - picture.width) // 2, y + (side - picture.height) // 2))
        most = side // 6
        draw.text((x, y + side + 2), name if len(name) <= most else "…" + name[-most + 1 :], (210, 210, 214), load_font())
    return result


def save(picture: Any, target: Path) -> None:
    try:
        with open_target(target) as local:
            picture.save(local)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None)  # of the disk; else the ending is none that a picture can have
        expected = "" if why else " Expected a path that ends in .png or .jpg."
        raise InvalidInputError(f"Cannot write the picture to '{target}': {why or error}.{expected}") from None


# Which examples a contact sheet shows.


def choose_rows(data: DataSet, count: int, seed: int, class_name: str | None = None, split: str | None = None) -> list[int]:
    """Rows drawn at random, in the order of the data set; the same for the same seed."""
    rows = np.arange(len(data.examples))
    if split is not None:
        rows = np.array(list_rows(data, split))
    if class_name is not None:
        if class_name not in data.classes:
            shown = ", ".join(data.classes[:30]) + (" …" if len(data.classes) > 30 else "")
            raise InvalidInputError(f"There is no class '{class_name}' in '{data.path}'. Classes: {shown}.")
        number = data.classes.index(class_name)
        rows = np.array([row for row in rows if (data.examples[int(row)].classes == number).any()], np.int64)
    if not len(rows):
        raise InvalidInputError(f"There is no image to show in '{data.path}' of what was asked for.")
    drawn = np.random.default_rng(seed).permutation(rows)[:count]
    return sorted(int(row) for row in drawn)
