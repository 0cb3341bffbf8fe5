"""What a cross-entropy is given as predictions where Keras does not know the graph: in one's own loop, or model class.

The first calls of each loss object are looked at: its options, and of the predictions either the values (where they are numbers
already) or the operation that made them (where a step is being traced). Then nothing is done any more.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import find_user_place
from unstall.probe.model.description import describe_loss

MAX_LOOKS = 2  # at each loss
MAX_LOSSES = 40
LARGEST = 1_000_000  # elements
_PASSING = frozenset({"Identity", "Cast", "Reshape", "Squeeze", "ExpandDims", "StopGradient"})
_PRODUCTS = frozenset({"MatMul", "BatchMatMulV2", "Einsum"})
_LOOKS = "_unstall_looks"


def install(module: ModuleType, probe: Probe) -> None:
    """keras.src.losses.loss, or losses of Keras 2"""
    reported = 0

    def look(loss: Any, predicted: Any) -> None:
        nonlocal reported
        if type(predicted).__name__ == "KerasTensor" or str(getattr(predicted, "device", "")) == "meta":
            return  # a rehearsal without values
        loss.__dict__[_LOOKS] = loss.__dict__.get(_LOOKS, 0) + 1
        if reported >= MAX_LOSSES or not hasattr(predicted, "shape"):
            return
        facts = describe_loss(loss)
        if "entropy" not in facts["name"]:
            loss.__dict__[_LOOKS] = MAX_LOOKS
            return
        reported += 1
        shape = [int(part) if part is not None else None for part in predicted.shape]
        seen = {"kind": "loss_called", **facts, "shape": shape, "made_by": _made_by(predicted), "where": find_user_place()}
        probe.emit(LoopSeen(at=time.time(), facts={**seen, **_values(predicted)}))

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(loss: Any, y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
            if probe.active and loss.__dict__.get(_LOOKS, 0) < MAX_LOOKS:
                probe.shield.call("loss calls", look, loss, y_pred)
            return original(loss, y_true, y_pred, *args, **kwargs)

        return __call__

    wrap(getattr(module, "Loss", None), "__call__", make)


def _made_by(tensor: Any) -> Optional[str]:
    """The kind of operation that a symbolic tensor of TensorFlow comes from; None for anything else."""
    tf = sys.modules.get("tensorflow")
    if tf is None or not isinstance(tensor, tf.Tensor) or hasattr(tensor, "_numpy"):
        return None
    operation = _maker(tensor)
    if operation is None or (operation.type in _PRODUCTS and _mixes_shares(operation)):
        return None
    return str(operation.type)


def _maker(tensor: Any) -> Any:
    for _ in range(6):
        operation = tensor.op
        if operation.type not in _PASSING or not operation.inputs:
            return operation
        tensor = operation.inputs[0]
    return None


def _mixes_shares(product: Any) -> bool:
    """Shares times a matrix may be shares again: experts that are mixed, or labels that are known to be mistaken for others."""
    return any(getattr(_maker(factor), "type", "") == "Softmax" for factor in product.inputs)


def _values(tensor: Any) -> dict[str, Any]:
    """The range of predictions that are numbers already, in host memory."""
    if hasattr(tensor, "_numpy") and "GPU" not in str(getattr(tensor, "device", "")):
        array = tensor._numpy()
    elif hasattr(tensor, "detach") and str(getattr(tensor, "device", "")) == "cpu":
        array = tensor.detach().numpy()
    else:
        return {}
    if not 0 < array.size <= LARGEST or array.dtype.kind != "f":
        return {}
    return {"least": float(array.min()), "most": float(array.max())}
