"""Make settings of a pipeline.config of the TF Object Detection API: unstall import tfod pipeline.config OUT

SSD, RetinaNet (SSD with a pyramid) and Faster R-CNN. Writes OUT/unstall.toml, and OUT/import.md, which says of every field, by
its line, whether it was carried over, changed or left out, and what happens instead. Then: unstall train --config
OUT/unstall.toml
"""

from __future__ import annotations

import click

from unstall.cli import json_option, write_answer
from unstall.config.command import Command


@click.command("tfod", cls=Command, help=__doc__)
@click.argument("config")
@click.argument("out")
@click.option("--data", metavar="PATH", help="Records to train on, instead of the config's: a file, a folder or a pattern.")
@click.option("--label-map", metavar="FILE", help="Label map, instead of the config's.")
@click.option("--val-data", metavar="PATH", help="Records to evaluate on, instead of the config's.")
@json_option("what became of every field")
def command(
    config: str, out: str, data: str | None, label_map: str | None, val_data: str | None, json_target: str | None
) -> None:
    from unstall.base.console import show_progress
    from unstall.report import json
    from unstall.report.terminal.imports import show_imported_config
    from unstall.tfod.conversion import convert, refuse_existing, write
    from unstall.tfod.inputs import PathOverrides

    json.refuse_unwritable(json_target)
    refuse_existing(out)
    with show_progress() as progress:
        converted = convert(config, PathOverrides(data, label_map, val_data, out), progress)
    files = write(converted, out)
    write_answer({**converted.as_plain(), **files}, json_target, show_imported_config)
