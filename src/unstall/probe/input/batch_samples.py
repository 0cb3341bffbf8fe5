"""Numbers about what is fed to the training: of the arrays given to fit, of batches that pass through Python, and of tf.data.

A few batches at the start and then one every few seconds. Once the loss is not finite, every batch is looked at until the bad one
has come by again: by then nothing can be spoiled any more.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import BatchSampled
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.input import batch_stats
from unstall.probe.input.batch_shapes import BatchShapes
from unstall.probe.loop.custom_training import get_loop
from unstall.probe.loop.losses import get_loss_watch

FIRST = 3
LOOK_EVERY_S = 2.0
MAX_LOOKS = 60
SEARCH_S = 1.0  # for the bad row in arrays
MAX_LABELS = 2_000_000  # of an array of labels, looked at when fit begins
MAX_SEARCHED = 20_000  # batches, after the loss broke
AT_THE_ERROR = "at the error"  # looked at when an error ended the program (`probe/errors/exceptions.py`)


class BatchFacts:
    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._arrays: list[tuple[str, str, Any]] = []  # role, name, weak reference
        self._given: list[tuple[str, str, Any]] = []  # the same, of the fit that may be about to begin
        self._from_arrays = False
        self._tap: Any = None
        self._shapes = BatchShapes(probe)
        self._reset()

    def _reset(self) -> None:
        self._batches = 0
        self._looks = 0
        self._due = 0.0
        self._searching = False
        self._searched = 0
        self._extremes: dict[str, tuple[float, float]] = {}
        self._newest: Any = None  # the batch of this step, which the loop holds as long; only within a fit

    def fit_began(self, model: Any) -> None:
        self._reset()
        self._shapes.reset()
        self._arrays, self._given = (self._given, []) if model is not None else ([], [])
        self._tap = self.probe.extras.pop("tap", None) if model is not None else None
        described = []
        for role, name, reference in self._arrays:
            array = batch_stats.as_array(reference())
            if array is not None:
                most = MAX_LABELS if role == "y" else batch_stats.MAX_ELEMENTS
                described.append(batch_stats.describe(role, name, array, most))
        self._from_arrays = bool(described)
        if described:
            self._report("arrays", described, None)

    def other_pass_began(self) -> None:
        self._given = []
        self.probe.extras.pop("tap", None)

    def fit_ended(self) -> None:
        self._tap = self._newest = None  # they keep a batch alive
        self._shapes.report()

    # --- arrays given to fit ---

    def arrays_given(self, x: Any, y: Any) -> None:
        """Noted, not looked at: it may be for a prediction."""
        if self.probe.fit_depth > 0:
            return  # of a validation
        self._given = []
        for role, name, value in batch_stats.split_parts((x, y)):
            try:
                self._given.append((role, name, weakref.ref(value)))
            except TypeError:
                pass  # something that cannot be looked at later

    # --- batches that TensorFlow fetches itself ---

    def step_ended(self, model: Any, done: int) -> bool:
        """Whether the next batch is wanted too."""
        tap = self._tap
        if tap is None or (not self._searching and not self._is_due()):
            return False
        batch = self.probe.shield.within_budget("batch tap", tap.take)
        if batch is not None:
            self._batches = done
            self._shapes.see(batch)
            self._see(batch)
        return self._searching

    # --- batches that pass through Python ---

    def batch_passed(self, batch: Any) -> None:
        """During a fit, or in one's own loop."""
        if self.probe.fit_depth > 0 and not get_loop(self.probe).is_open:
            self._newest = batch
        if self._from_arrays or self.probe.phase in ("validate", "predict"):
            return
        self._batches += 1
        self._shapes.see(batch)
        if self._searching or self._is_due():
            self._see(batch)

    def _is_due(self) -> bool:
        return self._looks < FIRST or (self._looks < MAX_LOOKS and time.monotonic() >= self._due)

    def _see(self, batch: Any) -> None:
        self._due = time.monotonic() + LOOK_EVERY_S
        if self._searching:
            self._search(batch)
        else:
            self.probe.shield.within_budget("batch facts", self._look, batch)

    def _look(self, batch: Any) -> None:
        self._looks += 1
        described = []
        for role, name, value in batch_stats.split_parts(batch):
            array = batch_stats.as_array(value)
            if array is not None:
                described.append(batch_stats.describe(role, name, array))
        if described and (self._looks <= FIRST or self._is_new(described)):
            self._report("batch", described, self._batches - 1)

    def _is_new(self, described: list[dict[str, Any]]) -> bool:
        """Whether it shows anything that was not seen before: a wider range, numbers that are not finite."""
        new = False
        for facts in described:
            key = facts["role"] + facts["name"]
            if facts.get("not_finite") or (facts.get("boxes") or {}).get("inside_out"):
                new = True
            if "min" not in facts:
                continue
            low, high = self._extremes.get(key, (facts["min"], facts["max"]))
            new = new or facts["min"] < low or facts["max"] > high
            self._extremes[key] = (min(low, facts["min"]), max(high, facts["max"]))
        return new

    def _search(self, batch: Any) -> None:
        self._searched += 1
        described = [
            batch_stats.describe(role, name, array, array.size)
            for role, name, array in (
                (role, name, batch_stats.as_array(value)) for role, name, value in batch_stats.split_parts(batch)
            )
            if array is not None
        ]
        if any(facts.get("not_finite") or (facts.get("boxes") or {}).get("inside_out") for facts in described):
            self._report("batch", described, self._batches - 1)
            self._searching = False
        elif self._searched > MAX_SEARCHED:
            self._searching = False

    # --- after the loss broke ---

    def loss_broke(self) -> None:
        """Looks for numbers that are not finite in what was fed, once."""
        if self._searched or self._searching:
            return
        self._searching, self._searched = True, 0
        bad = []
        until = time.monotonic() + SEARCH_S
        for role, name, reference in self._arrays:
            array = batch_stats.as_array(reference())
            if array is None:
                continue
            row = batch_stats.find_first_bad_row(array, until, time.monotonic)
            if row is not None:
                bad.append({"role": role, "name": name, "shape": list(array.shape), "not_finite": 1, "first_bad_row": row})
        if self._from_arrays:
            self._report("searched arrays", bad, None)

    # --- at an error ---

    def current_arrays(self) -> list[batch_stats.Part]:
        """The batch of the step that goes on; where none passed through Python, the arrays that fit was given."""
        if self._newest is not None:
            return batch_stats.split_parts(self._newest)
        given = [(role, name, reference()) for role, name, reference in self._arrays]
        return [part for part in given if part[2] is not None]

    def report(self, source: str, described: list[dict[str, Any]]) -> None:
        self._report(source, described, self._batches - 1 if self._newest is not None and self._batches else None)

    def _report(self, source: str, described: list[dict[str, Any]], batch: Optional[int]) -> None:
        facts = {"source": source, "batch": batch, "arrays": described}
        self.probe.emit(BatchSampled(at=time.time(), step=self.probe.train.done if self.probe.fit_depth else 0, facts=facts))


def get_batch_facts(probe: Probe) -> BatchFacts:
    facts: Optional[BatchFacts] = probe.extras.get("batch facts")
    if facts is None:
        facts = probe.extras["batch facts"] = BatchFacts(probe)
        probe.on_fit.append(facts.fit_began)
        probe.on_step.append(facts.step_ended)
        probe.on_fit_end.append(facts.fit_ended)
        probe.on_other_pass.append(facts.other_pass_began)
        probe.on_batch = facts.batch_passed
        probe.extras["on arrays"] = [facts.arrays_given]
        get_loop(probe).on_batch.append(lambda iterator, batch: facts.batch_passed(batch))
        get_loss_watch(probe).on_broken.append(facts.loss_broke)
    return facts


def install_keras_2(module: ModuleType, probe: Probe) -> None:
    """engine.data_adapter of Keras 2: arrays. (Those of Keras 3 are told by `guessing`, which wraps their adapter.)"""
    facts = get_batch_facts(probe)

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(adapter: Any, x: Any, y: Any = None, sample_weights: Any = None, *args: Any, **kwargs: Any) -> None:
            original(adapter, x, y, sample_weights, *args, **kwargs)
            if probe.active:
                probe.shield.call("batch facts", facts.arrays_given, x, y)

        return __init__

    wrap(getattr(module, "TensorLikeDataAdapter", None), "__init__", make)
