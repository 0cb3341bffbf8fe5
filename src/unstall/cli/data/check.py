"""Look at every image and every box of a data set, and report errors and warnings.

An error stops a training, gives a NaN or is left out in silence; a warning is learned wrong; an info is rightly there in many
data sets. Ends with 1 where there are errors.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unstall.cli import data_format_options, json_option
from unstall.config.command import Command

if TYPE_CHECKING:
    from unstall.data.check.runner import Report
    from unstall.journal.run_folder import RunFolder


@click.command("check", cls=Command, help=__doc__)
@click.argument("path")
@data_format_options
@click.option("--no-images", is_flag=True, help="Look at the annotations only.")
@click.option("--html", "html_target", metavar="PATH", help="Write a page with pictures of the worst.")
@click.option("--fix", "copy", metavar="OUT", help="Write a corrected copy there, and a list of the changes.")
@click.option(
    "--run", "run_name", metavar="RUN", help="Keep the errors and warnings with this run: its report shows them, with pictures."
)
@json_option("every finding")
def command(
    path: str,
    format_name: str | None,
    label_map: str | None,
    no_images: bool,
    html_target: str | None,
    copy: str | None,
    run_name: str | None,
    json_target: str | None,
) -> None:
    from unstall.base.console import create_console, show_progress
    from unstall.data.check.corrected_copy import refuse_unsafe
    from unstall.data.check.runner import as_plain, check
    from unstall.data.formats import read
    from unstall.report import json
    from unstall.report.terminal.data import show_check
    from unstall.storage import resolve_path, run_lookup

    json.refuse_unwritable(json_target)
    json.refuse_unwritable(html_target)
    if copy is not None:
        refuse_unsafe(resolve_path(path), resolve_path(copy))
    run = run_lookup.find(run_name) if run_name else None
    with show_progress() as progress:
        report = check(read(path, format_name, progress, label_map), not no_images, progress)
    plain = as_plain(report)
    if json_target != "-":
        show_check(plain, create_console())
    if html_target:
        from unstall.report.html.command_pages import write_check

        write_check(report, resolve_path(html_target))
    if run is not None:
        _keep_with(run, report)
    if copy is not None:
        plain["fixed"] = _write_copy(report, resolve_path(copy), quiet=json_target == "-")
    if json_target:
        json.write(plain, json_target)
    if report.has_errors:
        sys.exit(1)


def _keep_with(run: RunFolder, report: Report) -> None:
    from tempfile import TemporaryDirectory

    from unstall.base.errors import AccessDeniedError
    from unstall.data.check import defects

    try:
        with TemporaryDirectory() as folder:
            defects.keep(run, defects.describe_defects(report, Path(folder) / "pictures"))
    except OSError as error:
        raise AccessDeniedError(f"Cannot write to the run '{run.path}': {error.strerror}.") from None


def _write_copy(report: Report, copy: Path, quiet: bool) -> dict[str, object]:
    from unstall.base.console import create_console, show_progress
    from unstall.data.check.corrected_copy import write_copy
    from unstall.report.terminal.data import show_fixed

    with show_progress() as progress:
        plain = write_copy(report, copy, progress)
    if not quiet:
        show_fixed(plain, create_console())
    return plain
