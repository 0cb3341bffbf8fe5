"""Which examples a contact sheet shows."""

from __future__ import annotations

import numpy as np

from unstall.data.example import DataSet
from unstall.data.split import rows_of
from unstall.errors import WrongInput


def chosen(data: DataSet, count: int, seed: int, class_name: str | None = None, split: str | None = None) -> list[int]:
    """Rows drawn at random, in the order of the data set; the same for the same seed."""
    rows = np.arange(len(data.examples))
    if split is not None:
        rows = np.array(rows_of(data, split))
    if class_name is not None:
        if class_name not in data.classes:
            shown = ", ".join(data.classes[:30]) + (" …" if len(data.classes) > 30 else "")
            raise WrongInput(f"There is no class '{class_name}' in '{data.path}'. Classes: {shown}.")
        number = data.classes.index(class_name)
        rows = np.array([row for row in rows if (data.examples[int(row)].classes == number).any()], np.int64)
    if not len(rows):
        raise WrongInput(f"There is no image to show in '{data.path}' of what was asked for.")
    drawn = np.random.default_rng(seed).permutation(rows)[:count]
    return sorted(int(row) for row in drawn)
