"""Events of a training in numbers, as the probe inside writes them: models, weights, batches, losses."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.builders import FOLDER, T0, journal, started, steps
from tests.diagnosis.probe_fact_builders import inside, seen
from unstall.journal.events import BatchSampled, Event, FitBegan, LoopSeen, ModelDescribed, StepsEnded, WeightsSampled
from unstall.journal.reader import Journal

CLASSES = 10
LEVEL = 2.303


def fit(backend: str = "tensorflow", api: str = "keras", epochs: int = 10, steps_per_epoch: int = 250) -> FitBegan:
    return FitBegan(
        at=T0 + 1, api=api, backend=backend, epochs=epochs, steps_per_epoch=steps_per_epoch, where=f"{FOLDER}/train.py:60"
    )


def output(activation: str | None = "softmax", units: int = CLASSES, name: str = "", rank: int = 2) -> dict[str, Any]:
    return {"name": name, "units": units, "rank": rank, "activation": activation, "axis": -1}


def loss(name: str = "sparsecategoricalcrossentropy", from_logits: bool = False, **more: Any) -> dict[str, Any]:
    return {"name": name, "from_logits": from_logits, "ignore_class": None, "label_smoothing": 0.0, **more}


def model(**facts: Any) -> ModelDescribed:
    usual = {
        "model": "Sequential",
        "compiled_at": f"{FOLDER}/train.py:55",
        "optimizer_at": f"{FOLDER}/train.py:54",
        "entry": ["Dense"],
        "layers": [{"name": f"dense_{index}", "class": "Dense", "activation": "relu"} for index in range(3)],
        "normalised": False,
        "outputs": [output()],
        "losses": [loss()],
        "own_step": False,
        "penalties": False,
        "risky": [],
        "optimizer": "SGD",
        "clipped": False,
        "momentum": 0.0,
        "weight_decay": 0.0,
        "loss_scaled": False,
        "schedule": None,
    }
    return ModelDescribed(at=T0 + 1.1, facts={**usual, **facts})


def weight(name: str = "model/dense_0/kernel", rms: float | None = 0.1, start: float = 0.1, **facts: Any) -> dict[str, Any]:
    shape = [64, 32] if name.endswith("kernel") else [32]
    return {"name": name, "shape": shape, "rms": rms, "start": start, "moved": 0.0, "units": 32, "still": 0, **facts}


def weights(at: float, step: int, *plain: dict[str, Any], rate: float | None = 0.01, window: int = 200) -> WeightsSampled:
    return WeightsSampled(
        at=T0 + at, step=step, facts={"learning_rate": rate, "window": window, "optimizer": "", "weights": list(plain)}
    )


def array(role: str = "x", name: str = "", **facts: Any) -> dict[str, Any]:
    usual = {"dtype": "float32", "shape": [8000, 32], "min": -3.0, "max": 3.0, "mean": 0.0, "rms": 1.0}
    return {"role": role, "name": name, **usual, **facts}


def classes(least: int, most: int, **facts: Any) -> dict[str, Any]:
    values = list(range(least, most + 1))
    usual = {"dtype": "int64", "shape": [8000], "min": float(least), "max": float(most), "rms": 5.0, "whole": True}
    return array("y", **{**usual, "lowest": values[:12], "highest": values[-12:], "distinct": len(values), **facts})


def batch(*arrays: dict[str, Any], at: float = 1.2, source: str = "arrays") -> BatchSampled:
    return BatchSampled(at=T0 + at, step=0, facts={"source": source, "batch": None, "arrays": list(arrays)})


def guessing(level: float = LEVEL) -> LoopSeen:
    return seen("guessing", 1.3, loss="classes", level=level, labels=8000, classes=CLASSES)


def broke(step: int = 700, at: float = 5.0, last_loss: float | None = 0.4) -> LoopSeen:
    return seen("not_finite", at, step=step, exact=True, value="nan", last_step=step - 1, last_loss=last_loss)


def not_finite(at: float = 20.0, first: int = 800, last: int = 2000) -> StepsEnded:
    return StepsEnded(at=T0 + at, phase="train", first=first, last=last, loss=None, loss_is_finite=False)


def losses(first: float, *later: float, until: float = 21.0, last_step: int = 3000) -> list[Event]:
    """The loss of the first step, and then evenly spread readings."""
    events: list[Event] = [steps(0, 0, at=1.5, loss=first)]
    each = (last_step - 40) // max(1, len(later))
    for index, value in enumerate(later):
        at = 3.0 + (until - 3.0) * (index + 1) / len(later)
        events.append(steps(41 + index * each, 40 + (index + 1) * each, at=at, each_s=0.005, loss=value))
    return events


def stuck(value: float, first: float | None = None) -> list[Event]:
    return losses(value if first is None else first, *[value + 0.001 * (index % 2) for index in range(18)])


def falling(first: float = 2.3) -> list[Event]:
    return losses(first, *[first * 0.8**index for index in range(1, 19)])


def run(*events: Event | list[Event], **of_fit: Any) -> Journal:
    flat = [event for part in events for event in (part if isinstance(part, list) else [part])]
    return journal(started(), inside(), fit(**of_fit), *flat)


def leap_of(ratio: float, rate: float = 0.01) -> WeightsSampled:
    """A first update that changed a kernel by so many times its own size."""
    return weights(2, 1, weight(rms=0.1 * max(1.0, ratio), step=0.1 * ratio), rate=rate, window=1)
