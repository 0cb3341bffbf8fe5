"""What was found in images: a table, and pictures with boxes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.base.console import make_printable, print_clean, print_line
from unstall.base.errors import InvalidInputError
from unstall.base.formatting import format_count

if TYPE_CHECKING:
    from rich.console import Console

    from unstall.base.console import Progress
    from unstall.data.example import DataSet

MAX_SIDE = 4096  # pixels of a picture
ROWS = 100  # of the table; all are in the JSON


def show(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("image", "class", "score", "left", "top", "right", "bottom"):
        is_name = name in {"image", "class"}
        table.add_column(name, justify="left" if is_name else "right", overflow="fold", no_wrap=not is_name)
    rows = [(name, box) for name, image in zip(_short_names(plain), plain["images"], strict=True) for box in image["boxes"]]
    for name, box in rows[:ROWS]:
        edges = [f"{edge:.1f}" for edge in box["box"]]
        table.add_row(Text(make_printable(name)), Text(make_printable(box["class"])), f"{box['score']:.3f}", *edges)
    if rows:
        print_clean(out, table)
    if len(rows) > ROWS:
        print_line(out, Text(f"and {len(rows) - ROWS:,} more"))
    for each in plain["skipped"]:
        print_line(out, Text(f"not read: {make_printable(each['image'])}: {make_printable(each['why'])}"))
    pictures = [image["picture"] for image in plain["images"] if image.get("picture")]
    drawn = f", drawn in {Path(pictures[0]).parent}" if pictures else ""
    found = f"{format_count(len(plain['images']), 'image')}, {format_count(len(rows), 'box', 'boxes')}"
    print_line(out, Text(f"{found} of {plain['score_threshold']:g} and more{drawn}"))


def _short_names(plain: dict[str, Any]) -> list[str]:
    """Of the images, without the folder that all of them lie in: on a narrow terminal the name itself must be seen."""
    names = [image["image"] for image in plain["images"]]
    common = os.path.commonprefix(names)  # noqa: RUF071  (cut at a slash below; commonpath would make gs:/ of gs://)
    return [name[common.rfind("/") + 1 :] for name in names]


def draw(data: DataSet, result: dict[str, Any], folder: Path, progress: Progress | None) -> None:
    """A picture for each image; its path is added to the result."""
    from unstall.data.tools.visualization import save

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"Cannot write pictures to '{folder}': {error.strerror}.") from None
    used_names: set[str] = set()
    for number, image in enumerate(result["images"]):
        picture = _picture(data, image)
        if picture is not None:
            target = folder / _free_name(Path(image["image"]), used_names)
            save(picture, target)
            image["picture"] = str(target)
        if progress is not None:
            progress("drawing", number + 1, len(result["images"]))


def _picture(data: DataSet, image: dict[str, Any]) -> Any:
    import numpy as np
    from PIL import ImageDraw

    from unstall.data.tools.visualization import choose_colour, decode_thumbnail, draw_box

    source = data.examples[image["row"]].image
    found = decode_thumbnail(source, MAX_SIDE) if source is not None else None
    if found is None:
        return None
    picture, scale = found
    pen = ImageDraw.Draw(picture)
    for box in reversed(image["boxes"]):  # the best last, on top
        draw_box(pen, np.asarray(box["box"]) * scale, choose_colour(box["number"]), f"{box['class'][:17]} {box['score']:.2f}")
    return picture


def _free_name(path: Path, used_names: set[str]) -> str:
    """Two images of one name may lie in different folders."""
    name, count = f"{path.stem}.jpg", 1
    while name in used_names:
        count += 1
        name = f"{path.stem}_{count}.jpg"
    used_names.add(name)
    return name
