"""What a loop of one's own validates on: whether it has an end, and how many batches one pass is."""

from __future__ import annotations

import time
from typing import Any

from unstall.journal.events import InputDescribed
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import user_place
from unstall.probe.input.tf_pipeline import batches_per_pass

ENDLESS = -1  # as TensorFlow counts the batches of a data set that repeats for ever
_REPORTED = "_unstall_validation_told"


def describe(probe: Probe, iterator: Any) -> None:
    """Once for each data set."""
    dataset = getattr(iterator, "_dataset", None)
    if dataset is None or _REPORTED in dataset.__dict__:
        return
    dataset.__dict__[_REPORTED] = True
    batches = int(dataset.cardinality())
    per_pass = batches_per_pass(dataset) if batches == ENDLESS else None
    probe.emit(
        InputDescribed(
            at=time.time(),
            kind="tf.data",
            where=user_place(),
            batches=batches if batches >= ENDLESS else None,
            arguments={} if per_pass is None else {"batches_per_pass": per_pass},
            role="validate",
        )
    )
