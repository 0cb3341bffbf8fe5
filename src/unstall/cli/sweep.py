"""Find a learning rate: unstall sweep --data PATH --model NAME

A range test: from the first weights, one step at each of many rates that rise from --least to --most, until the loss
diverges. Shows the curve and suggests a rate with its reason. Takes the settings of `unstall train`; nothing is kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unstall.cli import answer, json_option
from unstall.config.options import GroupedCommand, setting_options


@click.command("sweep", cls=GroupedCommand, help=__doc__)
@click.option("--least", default=1e-6, show_default=True, type=click.FloatRange(1e-12, 100), help="The first rate.")
@click.option("--most", default=1.0, show_default=True, type=click.FloatRange(1e-12, 1000), help="The last one.")
@click.option("--steps", default=100, show_default=True, type=click.IntRange(20, 100_000), help="How many.")
@click.option("--png", "png_target", metavar="PATH", help="Write the curve as a picture.")
@click.option("--html", "html_target", metavar="PATH", help="Write a page with the curve.")
@json_option("rates, losses and the suggestion")
@setting_options
def command(
    least: float,
    most: float,
    steps: int,
    png_target: str | None,
    html_target: str | None,
    json_target: str | None,
    config: str | None,
    no_config: bool,
    **settings: Any,
) -> None:
    from unstall.base.dependencies import name_missing_packages
    from unstall.base.errors import InvalidInputError
    from unstall.base.progress import show_progress
    from unstall.config.options import config_used, given
    from unstall.config.sources import resolve
    from unstall.report import json
    from unstall.report.html.lr_find import show_sweep, write_plot, write_sweep
    from unstall.storage import resolve_path

    for target in (json_target, png_target, html_target):
        json.refuse_unwritable(target)
    if least >= most:
        raise InvalidInputError(f"--least: expected less than --most ({most:g}). Received: {least:g}")
    wanted = resolve(given(settings), config_used(config, no_config)).settings
    with name_missing_packages("unstall sweep", "data,tensorflow"), show_progress() as progress:
        import tempfile

        from unstall.training.lr.finder import sweep

        with tempfile.TemporaryDirectory(prefix="unstall-sweep-") as aside:
            plain = sweep(wanted, least, most, steps, Path(aside), progress)
    if png_target:
        write_plot(plain, resolve_path(png_target))
    if html_target:
        write_sweep(plain, resolve_path(html_target))
    answer(plain, json_target, show_sweep)
