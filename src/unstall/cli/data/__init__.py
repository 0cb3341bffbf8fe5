"""Look at a data set of images and boxes, and change it: convert, split and more.

COCO, Pascal VOC, YOLO and TF Object Detection API records are recognised by themselves.
"""

from __future__ import annotations

import click

from unstall.cli import Commands


class DataCommands(Commands):
    """The files of this folder. What they need besides Unstall itself comes with unstall[data]."""

    group_name = "data"
    extras = "data"


@click.group("data", cls=DataCommands, help=__doc__)
def command() -> None:
    pass
