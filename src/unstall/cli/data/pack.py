"""Pack a data set of many small files into few large ones: unstall data pack SRC DST

DST gets record files of the TF Object Detection API in shards (train-00000-of-00012.record) with a label map, which `unstall` and
TensorFlow read. Either may be in a bucket (gs://, s3://), where small files are read a hundred times slower than they could be.
SRC is not touched; DST must be new or empty.
"""

from __future__ import annotations

import click

from unstall.cli import data_format_options, json_option
from unstall.config.command import Command

MIB = 2**20


@click.command("pack", cls=Command, help=__doc__)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@data_format_options
@click.option("--shard-mib", default=128, show_default=True, type=click.IntRange(1, 1024), help="About how large a shard is.")
@json_option("what was done")
def command(
    source: str, target: str, format_name: str | None, label_map: str | None, shard_mib: int, json_target: str | None
) -> None:
    from unstall.base.console import show_progress
    from unstall.data.tools.pack import pack
    from unstall.report import json
    from unstall.report.terminal import data
    from unstall.storage import resolve_path

    json.refuse_unwritable(json_target)
    with show_progress() as progress:
        label_file = resolve_path(label_map) if label_map else None
        done = pack(resolve_path(source), resolve_path(target), shard_mib * MIB, format_name, label_file, progress)
    plain = done.as_plain()
    if json_target:
        json.write(plain, json_target)
    if json_target != "-":
        data.show(plain)
        click.echo(f"{plain['shards']} shards, {plain['bytes'] / MIB:,.1f} MiB")
