"""Show all runs live in the browser: unstall board

A list of the runs with their state, progress, time left and last verdict; what is stuck stands at the top. A click leads to
the page of a run, which follows it. FOLDER holds the runs, on a disk or in a bucket; without it, those of `unstall runs`. The
board only reads. It listens on this machine alone; with --host anywhere else it asks for a token, which is made unless one is
given. `unstall run --board` starts it by itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unstall.cli import json_option
from unstall.config.command import Command

if TYPE_CHECKING:
    from unstall.board.launcher import Board


@click.command("board", cls=Command, help=__doc__)
@click.argument("folder", required=False, metavar="[FOLDER]")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Where it listens; anywhere but on loopback a token is asked for."
)
@click.option("--port", type=click.IntRange(0, 65535), help="The port; else 8750, or the next that is free. 0: any that is free.")
@click.option(
    "--token", envvar="UNSTALL_BOARD_TOKEN", metavar="TEXT", help="Ask for this token, also on loopback. Or: UNSTALL_BOARD_TOKEN."
)
@click.option("--no-browser", is_flag=True, help="Do not open the browser.")
@click.option("--idle-hours", type=click.FloatRange(min=0.0), metavar="HOURS", help="End when nobody has looked for so long.")
@click.option("--stop", is_flag=True, help="End the board of this folder.")
@json_option("where it is")
def command(
    folder: str | None,
    host: str,
    port: int | None,
    token: str | None,
    no_browser: bool,
    idle_hours: float | None,
    stop: bool,
    json_target: str | None,
) -> None:
    from unstall.base.console import create_console
    from unstall.board import launcher
    from unstall.board.launcher import PORT, BoardOptions, open_browser, serve
    from unstall.journal import run_folder
    from unstall.report import json
    from unstall.storage import is_bucket
    from unstall.storage.download import find_mirror

    json.refuse_unwritable(json_target)
    place = folder or run_folder.get_bucket_home()
    mirror = find_mirror(place) if is_bucket(place) else None
    path = mirror.folder if mirror is not None else Path(folder) if folder else run_folder.get_home()
    run_folder.refuse_unreadable(path, "folder of the runs")
    if mirror is not None or folder is None:
        path.mkdir(parents=True, exist_ok=True)
    if stop:
        ended = launcher.stop(path)
        if json_target:
            json.write(launcher.as_plain(ended, is_new=False), json_target, is_of_program=False)
        if json_target != "-":
            create_console().print(f"The board of {place or path} (process {ended.pid}) has ended.", markup=False, soft_wrap=True)
        return

    def show_address(board: Board, is_new: bool) -> None:
        if json_target:
            json.write(launcher.as_plain(board, is_new), json_target, is_of_program=False)
        if json_target != "-":
            text = "Ctrl-C ends it." if is_new else f"It was there already (process {board.pid}); unstall board --stop ends it."
            if is_new and port is None and board.port != PORT:
                text = f"Port {PORT} is taken by another program, so it is {board.port}. {text}"
            create_console().print(f"{board.address()}\n{text}", markup=False, soft_wrap=True)
        if not no_browser:
            open_browser(board.address())

    serve(path, BoardOptions(host, port, token, idle_hours), show_address, mirror)
