"""Which machine type is the cheapest that fits a training, by the plan of memory, and what feeds it.

Machines are looked at by their price, the cheapest first, until one fits: a plan of memory may take a minute to compile. The ones
after it are `not looked at`, and nothing is said of them. A price that is not known comes last, and is never the cheapest.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unstall.base.errors import BucketError, UnstallError
from unstall.cloud.machines import Machine, Table
from unstall.config.settings import Settings, apply_changes
from unstall.planning.memory.devices import KEPT_SHARE, Device, estimate_host_need, find_device

if TYPE_CHECKING:
    from unstall.config.settings import Settings
    from unstall.data.example import DataSet
    from unstall.planning.memory import MemoryPlan

Plan = Callable[[Device], "MemoryPlan"]


@dataclass(frozen=True)
class TrainingRequest:
    """What is to be trained, and how machines are judged."""

    settings: Settings
    parameters: int  # weights of the detector
    images: int | None  # of the data
    largest_pixels: int | None
    input: Input
    is_spot: bool = False
    images_per_s: float | None = None  # that the steps take, where somebody has measured it

    @property
    def workers(self) -> int:
        """Training processes: each has a card, or a machine without one, and its share of the batch."""
        return self.settings.num_workers


@dataclass(frozen=True)
class Offer:
    """One machine type, and what was found of it."""

    machine: Machine
    count: int  # machines of it
    price: float | None  # of an hour of all
    status: str = "not looked at"  # fits | does not fit | not looked at
    why: str = ""
    changes: dict[str, Any] = field(default_factory=dict)  # of the settings, with which it fits
    need_bytes: int | None = None
    limit_bytes: int | None = None
    way: str = ""
    host_bytes: int | None = None  # of the machine's own memory
    fed_images_per_s: float | None = None  # made ready by its cores
    is_fed: bool | None = None  # whether that is what the steps take

    @property
    def fits(self) -> bool:
        return self.status == "fits"

    def as_plain(self) -> dict[str, Any]:
        machine = self.machine
        return {
            "machine": machine.name, "vcpus": machine.vcpus, "memory_gib": machine.memory_gib, "card": machine.card,
            "cards": machine.cards, "count": self.count, "price": self.price, "per_hour": machine.per_hour,
            "per_hour_spot": machine.per_hour_spot, "status": self.status, "why": self.why, "changes": self.changes,
            "need_bytes": self.need_bytes, "limit_bytes": self.limit_bytes, "method": self.way, "host_bytes": self.host_bytes,
            "fed_images_per_s": self.fed_images_per_s, "is_fed": self.is_fed,
        }  # fmt: skip


def plan_machines(
    wanted: TrainingRequest, table: Table, plan: Plan, cards: str | None = None, looks_at_all: bool = False
) -> list[Offer]:
    """All machine types, in the order of their price. `plan` asks for the memory that a device must have."""
    offers: list[Offer] = []
    plans: dict[str, MemoryPlan] = {}
    is_found = False
    for machine, count, price in sort_by_price(table, wanted.workers, wanted.is_spot):
        if is_found and not looks_at_all:
            offers.append(Offer(machine, count, price))
            continue
        offer = _looked_at(wanted, machine, count, price, _remembered(plan, plans, cards))
        is_found = is_found or (offer.fits and price is not None)
        offers.append(offer)
    return offers


def sort_by_price(table: Table, workers: int, is_spot: bool) -> list[tuple[Machine, int, float | None]]:
    """Each with how many of it there must be, and what they cost together."""
    rows = []
    for machine in table.machines:
        count = math.ceil(workers / max(1, machine.cards))
        price = machine.price(is_spot)
        rows.append((machine, count, None if price is None else price * count))
    return sorted(rows, key=lambda row: (row[2] is None, row[2] or 0.0, row[1], row[0].vcpus))


def choose_machine(offers: list[Offer]) -> Offer | None:
    """The cheapest that fits. One of which no price is known is none."""
    return next((each for each in offers if each.fits and each.price is not None), None)


def compute_cost(wanted: TrainingRequest, offer: Offer) -> dict[str, float] | None:
    """Hours and money of the whole training; None where nobody has measured how fast the steps are."""
    if wanted.images_per_s is None or wanted.images is None or offer.price is None:
        return None
    hours = wanted.images * wanted.settings.epochs / wanted.images_per_s / 3600
    return {"hours": hours, "money": hours * offer.price}


def describe_device(machine: Machine, cards: str | None) -> Device:
    if machine.card is not None:
        return find_device(machine.card, cards)
    kept = int(machine.memory_bytes * KEPT_SHARE)
    return Device(machine.name, "cpu", f"the cores of {machine.name}", machine.memory_bytes, kept, is_here=False)


def _remembered(plan: Plan, plans: dict[str, MemoryPlan], cards: str | None) -> Callable[[Machine], MemoryPlan]:
    """Machines with the same card have the same plan."""

    def of(machine: Machine) -> MemoryPlan:
        key = machine.card or machine.name
        if key not in plans:
            plans[key] = plan(describe_device(machine, cards))
        return plans[key]

    return of


def _looked_at(
    wanted: TrainingRequest, machine: Machine, count: int, price: float | None, plan_of: Callable[[Machine], MemoryPlan]
) -> Offer:
    if machine.card is None and wanted.parameters > _max_on_cores():
        why = f"no card for {wanted.parameters / 1e6:.1f} million weights"
        return Offer(machine, count, price, "does not fit", why)
    plan = plan_of(machine)
    host = _host_bytes(wanted, machine, plan)
    fed = wanted.input.images_per_s(machine.vcpus)
    is_fed = None if fed is None or wanted.images_per_s is None else fed * count >= wanted.images_per_s
    answer, why = _judged(wanted, machine, plan, host, fed, is_fed)
    need = plan.tried[-1].need_bytes
    return Offer(machine, count, price, answer, why, plan.changes(), need, plan.limit_bytes, plan.way, host, fed, is_fed)


def _judged(
    wanted: TrainingRequest, machine: Machine, plan: MemoryPlan, host: int, fed: float | None, is_fed: bool | None
) -> tuple[str, str]:
    from unstall.base.formatting import format_size

    if not plan.fits:
        return (
            "does not fit",
            f"needs {format_size(plan.tried[-1].need_bytes)} of {format_size(plan.limit_bytes)} on {plan.device.description}",
        )
    room = int(machine.memory_bytes * (1 - KEPT_SHARE))
    if host > room:
        return "does not fit", f"needs {format_size(host)} of {format_size(room)} of the machine's own memory"
    if is_fed is False:
        return "does not fit", f"its cores make {fed:,.0f} images/s ready, the steps take {wanted.images_per_s:,.0f}"
    return "fits", ""


def _host_bytes(wanted: TrainingRequest, machine: Machine, plan: MemoryPlan) -> int:
    """As many processes as the machine has cards share it."""
    beside = min(wanted.workers, max(1, machine.cards))
    threads = wanted.settings.num_input_workers or max(1, machine.vcpus // beside)
    settings = apply_changes(wanted.settings.split_for_one_worker(), {"num_input_workers": threads})
    on_cores = plan.training.need if machine.card is None else 0
    need = estimate_host_need(settings, plan.backend, plan.training.input, plan.training.state, on_cores, wanted.largest_pixels)
    return beside * need.total


def _max_on_cores() -> int:
    """The same limit as the preflight's, which says why."""
    from unstall.planning.preflight.checks.accelerator import MAX_PARAMETERS_ON_CPU

    return MAX_PARAMETERS_ON_CPU


# What a machine's cores can feed to its card: images made ready a second, and the bytes that this reads.
#
# The rate of one core is measured here, by the training's own pipeline over the data; what the steps of a training take is
# known only where somebody has measured them (`unstall preflight` on such a card), and is else unknown.


SAMPLE = 100  # images that are read from a bucket
BATCH = 8  # images
MAX_CPU_S, MAX_S = 2.0, 8.0  # of making batches
KEPT_VCPUS = 1  # for the training itself: it hands out work and reads losses


@dataclass(frozen=True)
class Input:
    """Of a data set, as this machine found it. All None: nothing is read, or it could not be."""

    core_images_per_s: float | None = None  # decoded, augmented and brought to size, in a second of one core
    image_bytes: float | None = None
    read_images_per_s: float | None = None  # from a bucket, many at once, by this machine
    why_not: str = ""

    def images_per_s(self, vcpus: int) -> float | None:
        """That so many can make ready."""
        return None if self.core_images_per_s is None else max(1, vcpus - KEPT_VCPUS) * self.core_images_per_s

    def as_plain(self) -> dict[str, Any]:
        names = ("core_images_per_s", "image_bytes", "read_images_per_s", "why_not")
        return {name: getattr(self, name) for name in names}


def measure_input(data: DataSet | None, settings: Settings) -> Input:
    if data is None:
        return Input(why_not="the embedded shapes are drawn, not read")
    from unstall.planning.preflight.checks import bucket_speed
    from unstall.storage import is_bucket

    sources = [each.image for each in data.examples if each.image is not None]
    if not sources:
        return Input(why_not="no image of the data is there")
    sample = random.Random(0).sample(sources, min(SAMPLE, len(sources)))
    try:
        sizes = [len(each.read()) for each in sample[:10]]
        read = bucket_speed.measure(sample).images_per_s or None if is_bucket(data.path) else None
        made = measure_core_rate(data, settings)
    except (BucketError, OSError, UnstallError) as failed:
        return Input(why_not=f"the data cannot be read from here: {failed}")
    return Input(made, sum(sizes) / len(sizes), read)


def measure_core_rate(data: DataSet, settings: Settings) -> float:
    """Images per second of CPU time: what waits for storage, or for other programs on this machine, does not count."""
    from unstall.config.detectors import get_image_size
    from unstall.data.augment.names import create_augmentations
    from unstall.data.pipeline import Pipeline, PipelineSettings

    height, width = settings.detector.get("image_size") or get_image_size(settings.model)
    wanted = PipelineSettings(
        batch_size=min(BATCH, len(data.examples)), height_px=int(height), width_px=int(width),
        max_boxes_per_image=settings.max_boxes_per_image,
        augmentations=create_augmentations(settings.augmentations), num_input_workers=1,
    )  # fmt: skip
    images = 0
    with Pipeline(data, wanted).batches(epochs=None) as batches:
        next(batches)  # what is loaded for the first one is not its own
        began, cpu = time.monotonic(), time.process_time()
        while time.process_time() - cpu < MAX_CPU_S and time.monotonic() - began < MAX_S:
            next(batches)
            images += wanted.batch_size
        return images / max(1e-3, time.process_time() - cpu)
