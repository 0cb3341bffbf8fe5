"""Find a learning rate: unstall lr-find --data PATH --model NAME

A range test: from the first weights, one step at each of many rates that rise from --min-lr to --max-lr, until the loss
diverges. Shows the curve and suggests a rate with its reason. Takes the settings of `unstall train`; nothing is kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unstall.cli import json_option, write_answer
from unstall.config.options import GroupedCommand, add_setting_options


@click.command("lr-find", cls=GroupedCommand, help=__doc__)
@click.option("--min-lr", default=1e-6, show_default=True, type=click.FloatRange(1e-12, 100), help="First learning rate.")
@click.option("--max-lr", default=1.0, show_default=True, type=click.FloatRange(1e-12, 1000), help="Last learning rate.")
@click.option("--num-steps", default=100, show_default=True, type=click.IntRange(20, 100_000), help="Number of learning rates.")
@click.option("--png", "png_target", metavar="PATH", help="Write the curve as a picture.")
@click.option("--html", "html_target", metavar="PATH", help="Write a page with the curve.")
@json_option("rates, losses and the suggestion")
@add_setting_options
def command(
    min_lr: float,
    max_lr: float,
    num_steps: int,
    png_target: str | None,
    html_target: str | None,
    json_target: str | None,
    config: str | None,
    no_config: bool,
    **settings: Any,
) -> None:
    from unstall.base.console import show_progress
    from unstall.base.errors import InvalidInputError, name_missing_packages
    from unstall.config.options import collect_explicit_settings, find_config
    from unstall.config.sources import resolve
    from unstall.report import json
    from unstall.report.html.command_pages import show_lr_find, write_lr_find, write_lr_find_plot
    from unstall.storage import resolve_path

    for target in (json_target, png_target, html_target):
        json.refuse_unwritable(target)
    if min_lr >= max_lr:
        raise InvalidInputError(f"--min-lr: expected less than --max-lr ({max_lr:g}). Received: {min_lr:g}")
    resolved = resolve(collect_explicit_settings(settings), find_config(config, no_config)).settings
    with name_missing_packages("unstall lr-find", "data,tensorflow"), show_progress() as progress:
        import tempfile

        from unstall.training.lr_finder import find_learning_rate

        with tempfile.TemporaryDirectory(prefix="unstall-lr-find-") as aside:
            plain = find_learning_rate(resolved, min_lr, max_lr, num_steps, Path(aside), progress)
    if png_target:
        write_lr_find_plot(plain, resolve_path(png_target))
    if html_target:
        write_lr_find(plain, resolve_path(html_target))
    write_answer(plain, json_target, show_lr_find)
