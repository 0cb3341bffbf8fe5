"""Google Cloud: what this machine is, which machine a training needs, and a job on it.

docs/cloud.md walks through it, and says what was tried without an account.
"""

from __future__ import annotations

import click

from unstall.cli import Commands


class CloudCommands(Commands):
    """The files of this folder. Google's client library comes with unstall[cloud]."""

    group_name = "cloud"
    extras = "cloud,data"


@click.group("cloud", cls=CloudCommands, help=__doc__)
def command() -> None:
    pass
