"""Say what a training will need of memory, before it runs: unstall plan --model NAME --device a100

Takes the settings of `unstall train`. For this machine, or for a card that need not be there (--list-devices lists them): what
the training step, the evaluation and a checkpoint need, the largest micro-batch that fits, and, where the wanted batch does not,
what to change: bfloat16, rematerialised blocks, a smaller micro-batch with accumulation, in this order. For a card a
step is compiled several times, which takes minutes; --quick does without. Ends with 1 where nothing fits.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from unstall.cli import json_option, num_classes_option, write_answer
from unstall.config.options import GroupedCommand, add_setting_options

if TYPE_CHECKING:
    from unstall.base.console import Progress
    from unstall.config.settings import Settings


@click.command("plan", cls=GroupedCommand, help=__doc__)
@click.option("--device", metavar="NAME", help="A card of the table, or 'cpu'; else what this machine has.")
@click.option(
    "--device-table", metavar="FILE", help="Another table of devices: JSON of the form of src/unstall/planning/memory/cards.json."
)
@click.option("--list-devices", is_flag=True, help="List the devices of the table.")
@num_classes_option("Number of classes. Without it, they are counted in the data.")
@click.option("--quick", is_flag=True, help="An estimate where it shows room enough; no search for the largest micro-batch.")
@json_option("the plan")
@add_setting_options
def command(
    device: str | None,
    device_table: str | None,
    list_devices: bool,
    num_classes: int | None,
    quick: bool,
    json_target: str | None,
    config: str | None,
    no_config: bool,
    **settings: Any,
) -> None:
    from unstall.base.console import show_progress
    from unstall.config.options import collect_explicit_settings, find_config
    from unstall.config.sources import resolve
    from unstall.planning import memory
    from unstall.planning.memory.client import announce_questions
    from unstall.planning.memory.devices import find_device
    from unstall.report import json
    from unstall.report.terminal.planning import show_plan

    json.refuse_unwritable(json_target)
    if list_devices:
        _print_devices(device_table, json_target)
        return
    resolved = resolve(collect_explicit_settings(settings), find_config(config, no_config)).settings
    chosen = find_device(device, device_table) if device else None
    with show_progress() as progress:
        pixels = None
        if resolved.data is not None:
            counted, pixels = _facts_of_data(resolved, progress)
            num_classes = num_classes or counted
        plan = memory.plan(
            resolved, chosen, num_classes,
            largest_pixels=pixels, finds_largest=not quick, is_quick=quick, before=announce_questions(progress),
        )  # fmt: skip
    plain = {"model": resolved.model, "classes": num_classes, **plan.as_plain()}
    write_answer(plain, json_target, show_plan)
    if not plan.fits or not plan.host_fits:
        sys.exit(1)


def _facts_of_data(resolved: Settings, progress: Progress | None) -> tuple[int, int | None]:
    """How many classes the data has, and the pixels of its largest image, where they are known."""
    from unstall.base.errors import name_missing_packages

    with name_missing_packages("unstall plan --data", "data"):
        from unstall.data.formats import read

        data = read(str(resolved.data), resolved.format, progress, resolved.label_map)
    pixels = [(each.width or 0) * (each.height or 0) for each in data.examples]
    return len(data.classes), max(pixels, default=0) or None


def _print_devices(device_table: str | None, json_target: str | None) -> None:
    from unstall.planning.memory import devices
    from unstall.report.terminal.planning import show_devices

    plain = {"devices": [devices.find_device(name, device_table).as_plain() for name in devices.list_gpus(device_table)]}
    write_answer(plain, json_target, show_devices)
