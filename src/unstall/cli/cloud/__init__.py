"""Google Cloud: what this machine is, which machine a training needs, and a job on it.

docs/cloud.md walks through it, and says what was tried without an account.
"""

from __future__ import annotations

from typing import Any

import click

from unstall.cli import Commands, missing_packages_named


class CloudCommands(Commands):
    """The files of this folder. Google's client library comes with unstall[cloud]."""

    group_name = "cloud"

    def invoke(self, ctx: click.Context) -> Any:
        with missing_packages_named("unstall cloud", "cloud,data"):
            return super().invoke(ctx)


@click.group("cloud", cls=CloudCommands, help=__doc__)
def command() -> None:
    pass
