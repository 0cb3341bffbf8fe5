"""Say what is in a file of weights: whose it is, its tensors, and which detector they are of."""

from __future__ import annotations

import click

from unstall.cli import TrainingCommand, json_option


@click.command("show", cls=TrainingCommand, help=__doc__)
@click.argument("file")
@click.option("--tensors", "lists_tensors", is_flag=True, help="List every tensor.")
@json_option("it")
def command(file: str, lists_tensors: bool, json_target: str | None) -> None:
    from unstall.base.console import create_console
    from unstall.detectors.weights.description import describe_file
    from unstall.report import json
    from unstall.report.terminal.imports import show_seen

    plain = describe_file(file)
    if json_target:
        json.write(plain, json_target)
    if json_target != "-":
        show_seen(plain, create_console(), lists_tensors)
