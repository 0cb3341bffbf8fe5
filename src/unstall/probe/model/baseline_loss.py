"""The loss that mere guessing gives: from how often each label occurs, or from the number of classes.

Only for losses whose guessing level is known (cross-entropies of one output, squared errors), and read from few labels, once.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.loop.custom_training import get_loop
from unstall.probe.model.gradients import find_behind

MAX_LABELS = 20_000
MIN_LABELS = 200
MAX_BATCHES = 50
MAX_CLASSES = 1000
_ENTROPIES = {"binarycrossentropy": "binary", "sparsecategoricalcrossentropy": "classes", "categoricalcrossentropy": "classes"}
_SQUARES = frozenset({"meansquarederror", "mse"})
_SOFTMAX = frozenset({"SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"})


class Labels:
    """Counts of classes, or mean and variance of numbers."""

    def __init__(self) -> None:
        self.count = 0
        self._classes: dict[int, int] = {}
        self._are_classes = True
        self._sum = 0.0
        self._squares = 0.0

    def add(self, labels: Any) -> None:
        numpy = sys.modules["numpy"]  # labels that have a dtype come from it, or from a framework that has it loaded
        values = numpy.asarray(labels)
        if values.dtype.kind not in "biuf" or not values.size:
            return
        if values.ndim == 2 and values.shape[1] > 1 and _is_one_hot(values):
            values = values.argmax(axis=1)
        flat = values.reshape(-1).astype("float64")
        flat = flat[:: max(1, flat.size // MAX_LABELS)]
        self.count += flat.size
        with numpy.errstate(all="ignore"):  # NaN is no integer, and NumPy would warn in the program's output
            self._sum += float(flat.sum())
            self._squares += float((flat * flat).sum())
            whole = flat.astype("int64")
        if self._are_classes and bool((whole == flat).all()) and flat.min() >= 0 and flat.max() < MAX_CLASSES:
            for value, times in zip(*numpy.unique(whole, return_counts=True)):  # noqa: B905 - of equal length
                self._classes[int(value)] = self._classes.get(int(value), 0) + int(times)
        else:
            self._are_classes = False

    def entropy(self) -> Optional[float]:
        if not self._are_classes or self.count < MIN_LABELS:
            return None
        return -sum(times / self.count * math.log(times / self.count) for times in self._classes.values())

    def variance(self) -> Optional[float]:
        if self.count < MIN_LABELS:
            return None
        return max(0.0, self._squares / self.count - (self._sum / self.count) ** 2)


def _is_one_hot(values: Any) -> bool:
    return bool(((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all())


class BaselineLoss:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self.labels = Labels()
        self._given: Optional[Labels] = None  # of the arrays for the fit that may be about to begin
        self._of_keras = False  # what is known is of a fit, not of one's own loop
        self._batches = 0
        self._kind = ""
        self._classes: Optional[int] = None
        self._reported: Optional[float] = None

    def fit_began(self, model: Any) -> None:
        self._reported = None
        if model is None:
            return
        self._of_keras = True
        self.labels, self._given = self._given or Labels(), None
        self._kind, self._classes = "", None
        if self._probe.extras.get("weighted"):
            return  # what guessing gives then hangs on the weights
        loss = getattr(model, "loss", None)
        name = (
            (loss if isinstance(loss, str) else getattr(loss, "__name__", None) or type(loss).__name__).replace("_", "").lower()
        )
        if (
            getattr(model, "losses", None)
            or getattr(loss, "label_smoothing", 0)
            or len(getattr(model, "outputs", None) or [0]) != 1
        ):
            return
        self._kind = _ENTROPIES.get(name) or ("squares" if name in _SQUARES else "")
        shape = getattr(model, "output_shape", None) if getattr(model, "built", True) else None
        units = shape[-1] if isinstance(shape, tuple) and shape and isinstance(shape[-1], int) else None
        self._classes = 2 if self._kind == "binary" else units
        self.report()

    def given(self, labels: Any) -> None:
        """Arrays: for a fit, or for something else."""
        self._given = Labels()
        if hasattr(labels, "dtype") and hasattr(labels, "strides"):
            self._given.add(labels[:: max(1, len(labels) // MAX_LABELS)])

    def other_pass_began(self) -> None:
        self._given = None

    def fit_ended(self) -> None:
        """A loop of one's own that comes after a fit has labels and a loss of its own."""
        if self._of_keras:
            self._of_keras = False
            self.labels, self._kind, self._classes = Labels(), "", None

    def entropy_seen(self, classes: int) -> None:
        """One's own loop computes a cross-entropy over so many classes."""
        if not self._kind:
            self._kind, self._classes = "binary" if classes == 2 else "classes", classes

    def fetched(self, iterator: Any, batch: Any) -> None:
        """A batch of one's own loop. After enough of them nothing is called any more."""
        self.batch(batch)
        if self._batches >= MAX_BATCHES:
            get_loop(self._probe).on_batch.remove(self.fetched)

    def batch(self, batch: Any) -> None:
        if self._batches >= MAX_BATCHES or not isinstance(batch, (tuple, list)) or len(batch) < 2:
            return
        self._batches += 1
        read = getattr(batch[1], "_numpy", None)
        labels = read() if read is not None else batch[1]
        if hasattr(labels, "dtype") and labels.size <= MAX_LABELS:
            self.labels.add(labels)
        if self._batches == MAX_BATCHES:
            self.report()

    def report(self) -> None:
        level: Optional[float] = None
        if self._kind == "squares":
            level = self.labels.variance()
        elif self._kind:
            level = self.labels.entropy()
            if level is None and self._classes is not None and self._classes > 1:
                level = math.log(self._classes)
        if level is not None and level > 0 and level != self._reported:
            self._reported = level
            facts = {
                "kind": "guessing",
                "loss": self._kind,
                "level": level,
                "labels": self.labels.count,
                "classes": self._classes,
            }
            self._probe.emit(LoopSeen(at=time.time(), facts=facts))


def get_baseline_loss(probe: Probe) -> BaselineLoss:
    guessing: Optional[BaselineLoss] = probe.extras.get("guessing")
    if guessing is None:
        guessing = probe.extras["guessing"] = BaselineLoss(probe)
        probe.on_fit.append(guessing.fit_began)
        probe.on_fit_end.append(guessing.fit_ended)
        probe.on_other_pass.append(guessing.other_pass_began)
        loop = get_loop(probe)
        loop.on_batch.append(guessing.fetched)
        loop.on_first_loss.append(lambda loss: _see_loss(guessing, loss))
    return guessing


def _see_loss(guessing: BaselineLoss, loss: Any) -> None:
    """What a step that is being traced computes its loss with."""
    if not hasattr(loss, "op"):
        return
    for operation in find_behind(loss.op):
        if operation.type in _SOFTMAX:
            classes = operation.inputs[0].shape[-1]
            if classes:
                guessing.entropy_seen(int(classes))
                return
        if "logistic_loss" in operation.name:
            guessing.entropy_seen(2)
            return


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.eager.backprop"""
    get_baseline_loss(probe)


def install_arrays(module: ModuleType, probe: Probe) -> None:
    """keras.src.trainers.data_adapters.array_data_adapter, or engine.data_adapter of Keras 2"""
    guessing = get_baseline_loss(probe)
    is_keras_2 = not hasattr(module, "ArrayDataAdapter")  # where `batch_samples` looks at arrays

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(adapter: Any, x: Any, y: Any = None, *args: Any, **kwargs: Any) -> None:
            original(adapter, x, y, *args, **kwargs)
            if probe.active and probe.fit_depth == 0 and y is not None:
                probe.shield.call("labels", guessing.given, y)
            for listen in probe.extras.get("on arrays", ()) if probe.active and not is_keras_2 else ():
                probe.shield.call("batch facts", listen, x, y)

        return __init__

    wrap(getattr(module, "TensorLikeDataAdapter" if is_keras_2 else "ArrayDataAdapter", None), "__init__", make)
