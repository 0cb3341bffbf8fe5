"""Draw a contact sheet: examples of a data set with their boxes and names."""

from __future__ import annotations

import click

from unstall.cli import data_format_options, json_option
from unstall.config.command import Command


@click.command("show", cls=Command, help=__doc__)
@click.argument("path")
@data_format_options
@click.option("--out", default="sheet.png", show_default=True, metavar="PATH", help="The picture to write.")
@click.option("--num-images", default=24, show_default=True, type=click.IntRange(1, 1000), help="Number of images.")
@click.option("--columns", default=6, show_default=True, type=click.IntRange(1, 100), help="Images in a row.")
@click.option(
    "--tile-size", default=240, show_default=True, type=click.IntRange(32, 2000), help="Size of each picture in pixels."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Which examples are drawn.")
@click.option("--class", "class_name", metavar="NAME", help="Only images that hold a box of this class.")
@click.option("--split", metavar="NAME", help="Only of this split.")
@json_option("which examples are shown")
def command(
    path: str,
    format_name: str | None,
    label_map: str | None,
    out: str,
    num_images: int,
    columns: int,
    tile_size: int,
    seed: int,
    class_name: str | None,
    split: str | None,
    json_target: str | None,
) -> None:
    from unstall.base.console import show_progress
    from unstall.data.formats import read
    from unstall.data.tools.visualization import choose_rows, draw_boxes, draw_sheet, save
    from unstall.report import json
    from unstall.storage import resolve_path

    json.refuse_unwritable(json_target)
    with show_progress() as progress:
        data = read(path, format_name, progress, label_map)
        rows = choose_rows(data, num_images, seed, class_name, split)
        pictures = []
        for number, row in enumerate(rows):
            example = data.examples[row]
            pictures.append((example.name, draw_boxes(example, data.classes, tile_size)))
            if progress is not None:
                progress("drawing", number + 1, len(rows))
        save(draw_sheet(pictures, min(columns, len(rows)), tile_size), resolve_path(out))
    if json_target:
        shown = [{"example": data.examples[row].name, "boxes": data.examples[row].count} for row in rows]
        json.write({"path": path, "picture": out, "examples": shown}, json_target)
    if json_target != "-":
        click.echo(f"{out}: {len(rows)} of {len(data.examples):,} images")
