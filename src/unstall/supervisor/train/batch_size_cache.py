"""The sizes that were found to fit, kept for later runs: of a model, on a machine. A small JSON file beside the runs."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import psutil

from unstall.base.private_files import write_whole
from unstall.config.settings import GIB, Settings
from unstall.journal import run_folder
from unstall.journal.events import DeviceSampled
from unstall.sensors.device import DeviceSampler

FILE = "fitting-sizes.json"


def get_cache_path() -> Path:
    return run_folder.get_home() / FILE


def compute_key(settings: Settings, machine: str) -> str:
    """All that the memory of a step depends on, but for the images computed at once."""
    detector = ",".join(f"{name}={value}" for name, value in sorted(settings.detector.items()))
    remat = "remat" if settings.remat else "no remat"
    return " | ".join([settings.model, detector, settings.backend, settings.precision, settings.optimizer, remat, machine])


def describe_machine() -> str:
    """What there is to compute on: the cards by name and memory, or the host's memory as this process may use it."""
    cards = [event for event in DeviceSampler().sample(set()) if isinstance(event, DeviceSampled)]
    if cards:
        return ", ".join(f"{card.name} {card.total_bytes / GIB:.0f} GiB" for card in cards)
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    limits = [psutil.virtual_memory().total, *([space] if space != resource.RLIM_INFINITY else [])]
    return f"cpu {min(limits) / GIB:.1f} GiB"


def recall(settings: Settings, machine: str) -> int | None:
    """Images at once that fitted; None: nothing is known. A file that cannot be read is no reason not to train."""
    size = _read().get(compute_key(settings, machine))
    return size if isinstance(size, int) and size > 0 else None


def remember(settings: Settings, machine: str) -> None:
    size = settings.at_once
    try:
        write_whole(
            get_cache_path(), json.dumps({**_read(), compute_key(settings, machine): size}, indent=1, sort_keys=True) + "\n"
        )
    except OSError:
        return  # the next run finds out for itself


def _read() -> dict[str, Any]:
    try:
        known = json.loads(get_cache_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
