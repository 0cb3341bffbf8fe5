"""Write the embedded data set: coloured shapes with exact boxes on textured ground, and any defect on request."""

from __future__ import annotations

import re

import click

from unstall.cli import json_option
from unstall.config.command import Command


@click.command("shapes", cls=Command, help=__doc__)
@click.argument("out")
@click.option("--num-images", default=100, show_default=True, metavar="N", type=click.IntRange(1), help="Number of images.")
@click.option("--image-size", default="320x240", show_default=True, metavar="WxH", help="Size of each image in pixels.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="The same seed gives the same data set.")
@click.option(
    "--max-shapes", default=8, show_default=True, type=click.IntRange(1, 1000), help="Maximum number of shapes in an image."
)
@click.option(
    "--empty-fraction", default=0.0, show_default=True, type=click.FloatRange(0, 1), help="Fraction of images without shapes."
)
@click.option("--format", "format_name", default="coco", show_default=True, metavar="FORMAT", help="coco, voc, yolo or tfrecord.")
@click.option("--splits", default="train=0.8,val=0.2", show_default=True, metavar="NAME=SHARE,…", help="'' for none.")
@click.option("--defect", "defects", multiple=True, metavar="NAME", help="Give it this defect; may be repeated.")
@json_option("what was written")
def command(
    out: str,
    num_images: int,
    image_size: str,
    seed: int,
    max_shapes: int,
    empty_fraction: float,
    format_name: str,
    splits: str,
    defects: tuple[str, ...],
    json_target: str | None,
) -> None:
    from unstall.base.console import show_progress
    from unstall.data.synthetic.shapes import Shapes, write_shapes
    from unstall.data.tools.convert import refuse_taken
    from unstall.report import json
    from unstall.storage import is_bucket, resolve_path
    from unstall.storage.transfer import open_target

    json.refuse_unwritable(json_target)
    width, height = _size(image_size)
    shapes = Shapes(num_images, width, height, seed, max_shapes, empty_fraction)
    if is_bucket(out):
        refuse_taken(resolve_path(out))
    with show_progress() as progress, open_target(resolve_path(out)) as local:
        written = write_shapes(local, shapes, format_name, _splits(splits), list(dict.fromkeys(defects)), progress)
    plain = {
        "path": out,
        "format": format_name,
        "images": num_images,
        "width": width,
        "height": height,
        "seed": seed,
        "classes": list(shapes.classes),
        "defects": [{"defect": defect, "where": where} for defect, where in written.items()],
    }
    if json_target:
        json.write(plain, json_target)
    if json_target != "-":
        click.echo(f"{out}: {num_images:,} images of {width}×{height}, {len(shapes.classes)} classes, {format_name}")
        for defect, where in written.items():
            click.echo(f"  {defect}: {where or 'the data set as a whole'}")


def _size(text: str) -> tuple[int, int]:
    from unstall.base.errors import InvalidInputError

    match = re.fullmatch(r"(\d{1,5})[x×](\d{1,5})", text.strip().lower())
    if match is None:
        raise InvalidInputError(f"Expected --image-size as WIDTHxHEIGHT, as in 640x480. Received: '{text}'.")
    return int(match[1]), int(match[2])


def _splits(text: str) -> dict[str, float]:
    from unstall.base.errors import InvalidInputError

    shares = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"([\w.-]+)=(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})", part)
        if match is None:
            raise InvalidInputError(f"Expected --splits as NAME=SHARE,NAME=SHARE, as in train=0.8,val=0.2. Received: '{part}'.")
        shares[match[1]] = float(match[2])
    return shares
