"""The exponential moving average (EMA) of the weights, which is evaluated and saved instead of the weights themselves."""

from __future__ import annotations

from typing import Any

from keras import ops

from unstall.detectors.layers.boxes import Tensor

EMA_WARMUP = 10  # updates: of the first ones the average holds little, so it follows them faster


def update_ema(state: dict[str, Any], after: dict[str, Any], decay: float) -> dict[str, Any]:
    """The averages after an update: `state` is the state before it, `after` the weights that it gives."""
    decay_now = compute_ema_decay(state, decay)
    names = [name.removeprefix("weights/") for name in after if name.startswith("weights/")]
    return {
        f"average/{name}": decay_now * state[f"average/{name}"] + (1 - decay_now) * after[f"weights/{name}"] for name in names
    }


def compute_ema_decay(state: dict[str, Any], decay: float) -> Tensor:
    """The decay of the next update: smaller in the first ones."""
    count = state["updates"]
    return ops.minimum(decay, (1 + count) / (EMA_WARMUP + count))
