"""Come from elsewhere: take over the configuration of another tool.

Published weights are taken over by `unstall weights import`, data sets by `unstall data convert`.
"""

from __future__ import annotations

import click

from unstall.cli import Commands


class ImportCommands(Commands):
    """The files of this folder. What they need besides Unstall itself comes with unstall[data]."""

    group_name = "import"
    extras = "data"


@click.group("import", cls=ImportCommands, help=__doc__)
def command() -> None:
    pass
