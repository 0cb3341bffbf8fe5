"""Write a data set in another format: unstall data convert SRC DST --to coco

Boxes, classes and the marks crowd, difficult and truncated are kept as far as the format can hold them; what it cannot hold
is said and counted. SRC is not touched; DST must be new or empty.
"""

from __future__ import annotations

import click

from unstall.cli import json_option
from unstall.config.command import Command


@click.command("convert", cls=Command, help=__doc__)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--to", "to", required=True, metavar="FORMAT", help="The format to write: `unstall data formats` lists them.")
@click.option("--format", "format_name", metavar="FORMAT", help="The format of SRC, where it is not recognised by itself.")
@click.option("--label-map", metavar="PATH", help="Label map or list of classes, if it is not part of SRC.")
@click.option("--link", is_flag=True, help="Hard links to the images instead of copies, where the file system allows it.")
@json_option("what was done")
def command(
    source: str, target: str, to: str, format_name: str | None, label_map: str | None, link: bool, json_target: str | None
) -> None:
    from unstall.base.console import show_progress
    from unstall.data.tools.convert import convert
    from unstall.report import json
    from unstall.report.terminal import data
    from unstall.storage import resolve_path

    json.refuse_unwritable(json_target)
    with show_progress() as progress:
        label_file = resolve_path(label_map) if label_map else None
        done = convert(resolve_path(source), resolve_path(target), to, format_name, label_file, link, progress)
    if json_target:
        json.write(done.as_plain(), json_target)
    if json_target != "-":
        data.show(done.as_plain())
