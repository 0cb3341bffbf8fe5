"""Name the cheapest machine type that fits a training: unstall cloud plan --data gs://NAME/coco --model NAME

Takes the settings of `unstall train`. Machine types are looked at by their price until one fits by the plan of memory (`unstall
plan`), and by what its own memory must hold; beside it stands how many images its cores make ready. Prices come from a table that
says its date and source; --prices puts another in its place. What is not known is said to be unknown. Ends with 1 where nothing
fits.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from unstall.cli import json_option, num_classes_option, write_answer
from unstall.config.options import GroupedCommand, add_setting_options

if TYPE_CHECKING:
    from unstall.base.console import Progress
    from unstall.cloud.plan import Plan, TrainingRequest
    from unstall.config.settings import Settings


@click.command("plan", cls=GroupedCommand, help=__doc__)
@click.option(
    "--prices", metavar="FILE", help="Another table of machines: JSON or TOML of the form of src/unstall/cloud/machines.json."
)
@click.option("--device-table", metavar="FILE", help="Another table of devices, as `unstall plan` takes it.")
@click.option("--spot", is_flag=True, help="By the price of machines that may be taken away.")
@click.option("--all", "looks_at_all", is_flag=True, help="Look at every machine type, not only up to the first that fits.")
@click.option(
    "--images-per-s", type=click.FloatRange(0, min_open=True), metavar="X", help="That the steps take, where it is known."
)
@num_classes_option("Number of classes. Without it, they are counted in the data.")
@json_option("the plan")
@add_setting_options
def command(
    prices: str | None,
    device_table: str | None,
    spot: bool,
    looks_at_all: bool,
    images_per_s: float | None,
    num_classes: int | None,
    json_target: str | None,
    config: str | None,
    no_config: bool,
    **settings: Any,
) -> None:
    from unstall.base.console import show_progress
    from unstall.cloud import machines
    from unstall.cloud import plan as machine_plan
    from unstall.cloud.terminal import show_plan
    from unstall.config.options import collect_explicit_settings, find_config
    from unstall.config.sources import resolve
    from unstall.report import json

    json.refuse_unwritable(json_target)
    table = machines.load_table(prices, device_table)
    resolved = resolve(collect_explicit_settings(settings), find_config(config, no_config)).settings
    with show_progress() as progress:
        request, classes = _training_request(resolved, num_classes, progress, spot, images_per_s)
        offers = machine_plan.plan_machines(request, table, _plan(request, classes, progress), device_table, looks_at_all)
    best = machine_plan.choose_machine(offers)
    plain = {
        "model": resolved.model, "classes": classes, "batch_size": resolved.batch_size, "workers": request.workers,
        "is_spot": spot, "images_per_s": images_per_s, "table": table.said(), "input": request.input.as_plain(),
        "offers": [each.as_plain() for each in offers], "chosen": best.as_plain() if best else None,
        "cost": machine_plan.compute_cost(request, best) if best else None,
    }  # fmt: skip
    write_answer(plain, json_target, show_plan)
    if best is None:
        sys.exit(1)


def _training_request(
    settings: Settings, classes: int | None, progress: Progress | None, is_spot: bool, images_per_s: float | None
) -> tuple[TrainingRequest, int | None]:
    from unstall.cloud import plan as machine_plan
    from unstall.detectors.weights import compatibility

    data = None
    if settings.data is not None:
        from unstall.data.formats import read

        data = read(str(settings.data), settings.format, progress, settings.label_map)
        classes = classes or len(data.classes)
    pixels = [(each.width or 0) * (each.height or 0) for each in data.examples] if data is not None else []
    request = machine_plan.TrainingRequest(
        settings=settings,
        parameters=compatibility.list_parameters(settings.model),
        images=len(data.examples) if data is not None else settings.synthetic_images,
        largest_pixels=max(pixels, default=0) or None,
        input=machine_plan.measure_input(data, settings),
        is_spot=is_spot,
        images_per_s=images_per_s,
    )
    return request, classes


def _plan(request: TrainingRequest, classes: int | None, progress: Progress | None) -> Plan:
    from unstall.planning import memory
    from unstall.planning.memory.client import announce_questions
    from unstall.planning.memory.devices import Device

    def plan(device: Device) -> memory.MemoryPlan:
        pixels, before = request.largest_pixels, announce_questions(progress)
        return memory.plan(
            request.settings, device, classes, largest_pixels=pixels, finds_largest=False, is_quick=True, before=before
        )

    return plan
