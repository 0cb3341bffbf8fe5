"""Say what a data set holds: classes, sizes, shapes, outliers, and how well a detector's anchors fit its boxes."""

from __future__ import annotations

import click

from unstall.cli import data_format_options, json_option
from unstall.config.command import Command


@click.command("stats", cls=Command, help=__doc__)
@click.argument("path")
@data_format_options
@click.option(
    "--detector", "detectors", multiple=True, metavar="NAME", help="Whose anchors are tried; may be repeated. All, if none."
)
@click.option("--html", "html_target", metavar="PATH", help="Write a page with tables and plots.")
@click.option("--png", "png_target", metavar="PATH", help="Write the plots as a picture.")
@json_option("the figures")
def command(
    path: str,
    format_name: str | None,
    label_map: str | None,
    detectors: tuple[str, ...],
    html_target: str | None,
    png_target: str | None,
    json_target: str | None,
) -> None:
    from unstall.base.console import create_console, show_progress
    from unstall.data.anchors import list_anchors
    from unstall.data.formats import read
    from unstall.data.tools.stats import compute_stats
    from unstall.report import json
    from unstall.report.terminal.data import show_stats
    from unstall.storage import resolve_path

    for target in (json_target, html_target, png_target):
        json.refuse_unwritable(target)
    for detector in detectors:
        list_anchors(detector)
    with show_progress() as progress:
        data = read(path, format_name, progress, label_map)
    plain = compute_stats(data, detectors or None)
    if json_target:
        json.write(plain, json_target)
    if png_target:
        from unstall.report.html.command_pages import write_data_plots

        write_data_plots(data, plain, resolve_path(png_target))
    if html_target:
        from unstall.report.html.command_pages import write_stats

        write_stats(data, plain, resolve_path(html_target))
    if json_target != "-":
        show_stats(plain, create_console())
