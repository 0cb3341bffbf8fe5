"""Look at a data set of images and boxes, and change it: convert, split and more.

COCO, Pascal VOC, YOLO and TF Object Detection API records are recognised by themselves.
"""

from __future__ import annotations

from typing import Any

import click

from unstall.cli import Commands
from unstall.errors import NotInstalled


class DataCommands(Commands):
    """The files of this folder. What they need besides Unstall itself comes with unstall[data]."""

    group_name = "data"

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if not missing or missing.partition(".")[0] == "unstall":
                raise  # a fault of ours, not a package that is not installed
            raise NotInstalled(f"`unstall data` needs the package '{missing}'. Install: pip install 'unstall[data]'") from None


@click.group("data", cls=DataCommands, help=__doc__)
def command() -> None:
    pass
