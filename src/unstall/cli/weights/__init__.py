"""Take over published weights, and look at files of weights.

Checkpoints of torchvision (.pth, .safetensors), of keras.applications (.keras, .h5), and of
either as NumPy arrays (.npz, a pickle). Nothing in a file is run.
"""

from __future__ import annotations

import click

from unstall.cli import Commands


class WeightsCommands(Commands):
    group_name = "weights"


@click.group("weights", cls=WeightsCommands, help=__doc__)
def command() -> None:
    pass
