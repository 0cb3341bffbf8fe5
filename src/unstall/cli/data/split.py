"""Divide a data set into train, val and test: unstall data split PATH OUT

Each class, the rare ones above all, comes into each split. The same seed gives the same division. The division that PATH has
already is given up; PATH itself is not touched, and OUT must be new or empty.
"""

from __future__ import annotations

import click

from unstall.cli import json_option
from unstall.config.command import Command


@click.command("split", cls=Command, help=__doc__)
@click.argument("path")
@click.argument("out")
@click.option("--train", default=0.8, show_default=True, help="The share of the images to train on.")
@click.option("--val", default=0.1, show_default=True, help="The share to validate on.")
@click.option("--test", default=0.1, show_default=True, help="The share to test on.")
@click.option("--seed", default=0, show_default=True, help="Another seed, another division.")
@click.option("--to", "to", metavar="FORMAT", help="The format to write; without it, that of PATH.")
@click.option("--format", "format_name", metavar="FORMAT", help="The format of PATH, where it is not recognised by itself.")
@click.option("--label-map", metavar="FILE", help="Label map or list of classes, if it is not part of PATH.")
@click.option("--link", is_flag=True, help="Hard links to the images instead of copies, where the file system allows it.")
@json_option("what was done")
def command(
    path: str,
    out: str,
    train: float,
    val: float,
    test: float,
    seed: int,
    to: str | None,
    format_name: str | None,
    label_map: str | None,
    link: bool,
    json_target: str | None,
) -> None:
    from unstall.base.console import show_progress
    from unstall.data import formats
    from unstall.data.tools.convert import refuse_taken, write_aside
    from unstall.data.tools.split import check_shares, divide
    from unstall.report import json
    from unstall.report.terminal import data as terminal_data
    from unstall.storage import resolve_path

    json.refuse_unwritable(json_target)
    shares = {"train": train, "val": val, "test": test}
    check_shares(shares)
    refuse_taken(resolve_path(out))
    with show_progress() as progress:
        data = divide(formats.read(path, format_name, progress, label_map), shares, abs(seed))
        done = write_aside(data, resolve_path(out), to or data.format, link, progress)
    if json_target:
        json.write(done.as_plain(), json_target)
    if json_target != "-":
        terminal_data.show(done.as_plain())
