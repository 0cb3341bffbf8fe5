"""Come from elsewhere: take over the configuration of another tool.

Published weights are taken over by `unstall weights import`, data sets by `unstall data convert`.
"""

from __future__ import annotations

from typing import Any

import click

from unstall.cli import Commands, missing_packages_named


class ImportCommands(Commands):
    """The files of this folder. What they need besides Unstall itself comes with unstall[data]."""

    group_name = "import"

    def invoke(self, ctx: click.Context) -> Any:
        with missing_packages_named("unstall import", "data"):
            return super().invoke(ctx)


@click.group("import", cls=ImportCommands, help=__doc__)
def command() -> None:
    pass
