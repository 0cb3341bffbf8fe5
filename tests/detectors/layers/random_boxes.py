"""Boxes for the specifications: drawn by NumPy from a seed that Hypothesis chooses, in shapes that never change.

A backend that compiles each shape anew would else compile for every example.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

SEEDS = st.integers(0, 2**32 - 1)
some_examples = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def boxes(seed: int, *shape: int, px: int = 60, no_area: float = 0.15) -> np.ndarray:
    """Whole and broken numbers, equal boxes among them, and a share that has no area or lies inside out."""
    random = np.random.default_rng(seed)
    corner = random.uniform(0, px, (*shape, 2))
    side = random.uniform(0.5, px / 2, (*shape, 2))
    drawn = np.concatenate([corner, corner + side], axis=-1)
    if seed % 2:
        drawn = np.round(drawn / 4) * 4  # many equal sides, and ties
        drawn[..., 2:] = np.maximum(drawn[..., 2:], drawn[..., :2] + 4)
    spoiled = random.random(shape) < no_area
    drawn[spoiled] = drawn[spoiled][:, [2, 1, 0, 3]] if seed % 3 else drawn[spoiled][:, [0, 1, 0, 3]]
    return drawn.astype(np.float32)


def tensor(values: np.ndarray) -> Any:
    from keras import ops

    return ops.convert_to_tensor(values)


def array(tensor: Any) -> np.ndarray:
    from keras import ops

    return ops.convert_to_numpy(tensor)


def plain_iou(a: np.ndarray, b: np.ndarray) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0.0) * max(height, 0.0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / union if union > 0 else 0.0
