"""The board beside a run that begins: started or found, said, opened. Whatever goes wrong with it, the run goes on."""

from __future__ import annotations

import sys

from unstall.base.errors import UnstallError
from unstall.board import process
from unstall.board.launcher import open_browser
from unstall.journal.run_folder import RunFolder


def show(run: RunFolder, is_quiet: bool = False) -> None:
    """Only on standard error: standard output is the program's. To be called before the program is started."""
    try:
        address = process.find_or_start(run.path.parent).address(run.name)
    except (UnstallError, OSError) as error:
        _say(f"unstall: no board: {error}")
        return
    if not is_quiet:
        _say(f"unstall: board: {address}")
    open_browser(address)


def _say(line: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except OSError:
        return  # it is gone: nobody reads
