"""Labels are counted without a word in the program's own output, also those that are not finite."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from unstall.probe.model.baseline_loss import Labels


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_labels_that_are_no_integers_cause_no_warning(value: float) -> None:
    labels = Labels()
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        labels.add(np.array([[0.0], [1.0], [value]] * 100))
    assert labels.count == 300 and labels.entropy() is None


def test_classes_are_still_counted() -> None:
    labels = Labels()
    labels.add(np.array([0.0, 1.0] * 200))
    assert labels.entropy() == pytest.approx(np.log(2))
