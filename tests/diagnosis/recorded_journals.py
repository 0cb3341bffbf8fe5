"""Journals of real runs, recorded on a machine with a GPU."""

from __future__ import annotations

from pathlib import Path

from unstall.journal.reader import Journal, read_folder

FOLDER = Path(__file__).parents[1] / "journals"
HEALTHY = ("gpu_almost_full_jax", "gpu_exhausted_caught_torch", "gpu_shared_but_enough_torch")


def recorded(name: str) -> Journal:
    journal = read_folder(FOLDER / name)
    assert journal.count, f"no journal was recorded for {name}"
    return journal
