"""What a training could run on: this machine's card or its cores, or a card of a table, which need not be there.

The table is `cards.json`; a file of the same form takes its place (`unstall plan --device-table FILE`). Standard library and
NVML only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import suggest_closest
from unstall.config.settings import Settings
from unstall.sensors import cgroup

TABLE = Path(__file__).with_name("cards.json")
# Of a card: what the compiler must know of it, and what is planned with. Each a whole number but the clock and the capability.
FIGURES = (
    "memory_bytes",  # of the card
    "kept_bytes",  # by the driver and the runtime, before a program has anything
    "cores",  # multiprocessors
    "lanes_per_core",
    "threads_per_core",
    "shared_bytes_per_core",
    "shared_bytes_per_block",
    "l2_bytes",
    "bytes_per_second",
)
BFLOAT16_SINCE = (8, 0)  # the compute capability from which on a card multiplies it


@dataclass(frozen=True)
class Device:
    name: str  # h200, cpu
    kind: Literal["cuda", "cpu"]
    description: str  # as its maker calls it
    memory_bytes: int
    kept_bytes: int = 0
    held_bytes: int = 0  # by other programs, now
    is_here: bool = True
    card: Mapping[str, Any] = field(default_factory=dict)  # figures for the compiler; of a CPU none

    @property
    def has_bfloat16(self) -> bool:
        """Whether computing in it is quicker and smaller; a CPU's compiler widens it to float32 and back."""
        return self.kind == "cuda" and tuple(self.card["capability"]) >= BFLOAT16_SINCE

    @property
    def free_bytes(self) -> int:
        return max(0, self.memory_bytes - self.kept_bytes - self.held_bytes)

    def as_plain(self) -> dict[str, Any]:
        return {
            "name": self.name, "kind": self.kind, "description": self.description, "memory_bytes": self.memory_bytes,
            "kept_bytes": self.kept_bytes, "held_bytes": self.held_bytes, "is_here": self.is_here,
        }  # fmt: skip


# --- the table ---


def list_gpus(path: Path | str | None = None) -> dict[str, dict[str, Any]]:
    """By their names. A file of a user is checked figure by figure."""
    source = Path(path or TABLE)
    try:
        stored = json.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"Cannot read the table of cards '{source}': {error.strerror}.") from None
    except ValueError as error:
        raise InvalidInputError(f"'{source}': expected JSON. {error}") from None
    if not isinstance(stored, dict) or not stored:
        raise InvalidInputError(f"'{source}': expected cards by their names. Received: {type(stored).__name__}")
    for name, card in stored.items():
        _refuse_unfit(f"{source}: {name}", card)
    return stored


def _refuse_unfit(where: str, card: Any) -> None:
    if not isinstance(card, dict):
        raise InvalidInputError(f"{where}: expected figures by their names. Received: {card!r}")
    for name in FIGURES:
        if not isinstance(card.get(name), int) or isinstance(card[name], bool) or card[name] < 0:
            raise InvalidInputError(f"{where}: {name}: expected a whole number of 0 or more. Received: {card.get(name)!r}")
    capability = card.get("capability")
    if not isinstance(capability, list) or len(capability) != 2 or not all(isinstance(each, int) for each in capability):
        raise InvalidInputError(f"{where}: capability: expected two whole numbers, as in [9, 0]. Received: {capability!r}")
    if not isinstance(card.get("clock_ghz"), int | float):
        raise InvalidInputError(f"{where}: clock_ghz: expected a number. Received: {card.get('clock_ghz')!r}")


def find_device(name: str, path: Path | str | None = None) -> Device:
    """A card of the table, alone on its machine; or 'cpu', this machine's own."""
    if name == "cpu":
        return describe_this_cpu()
    table = list_gpus(path)
    key = name.lower().replace("-", "_").replace(" ", "_")
    if key not in table:
        hint = suggest_closest(key, table, cutoff=0.4)
        raise InvalidInputError(f"There is no device '{name}' in the table.{hint} Devices: cpu, {', '.join(table)}.")
    card = table[key]
    description = str(card.get("description", name))
    return Device(key, "cuda", description, card["memory_bytes"], card["kept_bytes"], 0, is_here=False, card=card)


# --- this machine ---


def find_device_here(backend: str) -> Device:
    """The card that this backend would take on this machine; its cores where there is no card, or the backend knows none."""
    from unstall.backends import allocators

    index = allocators.find_visible_gpu(backend) if allocators.can_list_gpus(backend) else None
    return (_find_card(index) if index is not None else None) or describe_this_cpu()


def describe_this_cpu() -> Device:

    return Device("cpu", "cpu", "the cores of this machine", read_limit_bytes(), 0, read_used_bytes())


def _find_card(index: int) -> Device | None:
    """As NVML shows it. What the compiler must know comes from the nearest card of the table."""
    from unstall.journal.events import DeviceSampled
    from unstall.sensors.device import DeviceSampler

    cards_seen = [event for event in DeviceSampler().sample(set()) if isinstance(event, DeviceSampled)]
    if index >= len(cards_seen):
        return None
    seen = cards_seen[index]
    card = find_nearest_gpu(seen.name, seen.total_bytes)
    kept = int(card["kept_bytes"])
    held = max(0, seen.used_bytes - kept)
    return Device(_name_of(card), "cuda", seen.name, seen.total_bytes, kept, held, is_here=True, card=card)


def find_nearest_gpu(description: str, memory_bytes: int, path: Path | str | None = None) -> dict[str, Any]:
    """That which shares most words with figures in them ('A100', '40GB'), and of these the one with the most similar memory."""

    def unlike(card: Mapping[str, Any]) -> tuple[int, int]:
        shared = _distinctive_words(description) & _distinctive_words(str(card.get("description", "")))
        return -len(shared), abs(card["memory_bytes"] - memory_bytes)

    return min(list_gpus(path).values(), key=unlike)


def _distinctive_words(description: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", description.lower()) if any(each.isdigit() for each in word)}


def _name_of(card: Mapping[str, Any]) -> str:
    return next(name for name, each in list_gpus().items() if each["description"] == card["description"])


# The host's own memory: what the pipeline, the cache and a checkpoint in the making will hold, against what there is.


MIB = 2**20
# Roughly, of a process that has loaded Keras and this backend and made a step of a small detector; only JAX was measured: 460 MB.
FRAMEWORK_BYTES = {"tensorflow": 1100 * MIB, "jax": 700 * MIB, "torch": 700 * MIB}
USUAL_PIXELS = 4000 * 3000  # of the largest image, where nobody has looked: a photograph
KEPT_SHARE = 0.1  # of the memory, that is not promised to anybody: the system, other programs, what grows


@dataclass(frozen=True)
class HostNeed:
    """All in bytes."""

    framework: int
    ahead: int  # batches that are made ahead
    cache: int  # decoded images, where they are kept in memory
    scratch: int  # of the input threads: each has one decoded image, and what it makes of it
    snapshot: int  # of a checkpoint, while it is written
    device: int  # what the training itself takes, where the cores compute
    limit: int
    used: int  # by others, now

    @property
    def total(self) -> int:
        return self.framework + self.ahead + self.cache + self.scratch + self.snapshot + self.device

    def of_all(self, workers: int) -> HostNeed:
        """With so many on this host; only one of them writes a checkpoint."""
        each = {name: workers * getattr(self, name) for name in ("framework", "ahead", "cache", "scratch", "device")}
        return replace(self, **each)

    @property
    def fits(self) -> bool:
        return self.total <= (self.limit - self.used) * (1 - KEPT_SHARE)

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self), "total": self.total, "fits": self.fits}


def estimate_host_need(
    settings: Settings,
    backend: str,
    input_bytes: int,
    state_bytes: int,
    on_the_cores_bytes: int = 0,
    largest_pixels: int | None = None,
) -> HostNeed:
    """`input_bytes` are of one batch, `state_bytes` of a checkpoint."""
    threads = settings.num_input_workers or len(os.sched_getaffinity(0))
    canvas = input_bytes // settings.batch_size
    return HostNeed(
        framework=FRAMEWORK_BYTES[backend],
        ahead=max(settings.prefetch_bytes, 2 * input_bytes),  # the one in use and the next are there whatever was asked for
        cache=0 if settings.cache_dir else settings.cache_bytes,
        # Decoded and turned upright an image exists twice, and so does the canvas that it is drawn on.
        scratch=threads * (2 * 3 * (largest_pixels or USUAL_PIXELS) + 2 * canvas),
        snapshot=state_bytes,
        device=on_the_cores_bytes,
        limit=read_limit_bytes(),
        used=read_used_bytes(),
    )


def read_limit_bytes() -> int:
    """Of the machine, or of the control group where that is less."""
    group = cgroup.find(os.getpid())
    limit = cgroup.read_limit(group) if group is not None else None
    return min(limit, _total()) if limit is not None else _total()


def read_used_bytes() -> int:
    """Of that limit: by everybody who shares it, and by whoever else leaves the machine less than it."""
    import psutil

    group = cgroup.find(os.getpid())
    left = cgroup.read_free_bytes(group) if group is not None else None
    available = int(psutil.virtual_memory().available)
    return max(0, read_limit_bytes() - (available if left is None else min(left, available)))


def _total() -> int:
    import psutil

    return int(psutil.virtual_memory().total)
