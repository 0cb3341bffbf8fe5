"""The fingerprint of the data, as far as it was met."""

from __future__ import annotations

from typing import Any

from unstall.compare.recorded.taken import Taken
from unstall.journal.events import DataMeasured, TrainingBegan


def data(taken: Taken) -> dict[str, Any]:
    """Of the trainer's own data set where there is one; else the newest measurement of the files, which holds most of them."""
    measured = taken.last(DataMeasured)
    if measured is not None:
        return {"source": measured.source, **measured.fingerprint}
    began = taken.last(TrainingBegan)
    return {"examples": began.examples} if began is not None and began.examples else {}
