"""Keeps the newest batch of a tf.data set that TensorFlow fetches inside the compiled step, so that Python can look at it.

It stands in the stamp's last `map`: each batch leaves a reference to itself in variables in host memory, which costs no copy, and
passes on unchanged. A copy is made only of a batch that is looked at.
"""

from __future__ import annotations

import sys
from typing import Any, Optional

from unstall.inside.probe import Probe

MOST_PARTS = 6


class Tap:
    def __init__(self, spec: Any) -> None:
        tf = sys.modules["tensorflow"]
        self._tf = tf
        flat = tf.nest.flatten(spec)
        kept = [index for index, part in enumerate(flat) if _holds_numbers(tf, part)][:MOST_PARTS]
        with tf.device("CPU:0"):
            self._kept = {
                index: tf.Variable(
                    tf.zeros([0] * (flat[index].shape.rank or 0), flat[index].dtype),
                    shape=tf.TensorShape([None] * (flat[index].shape.rank or 0)),
                    trainable=False,
                )
                for index in kept
            }
        self._spec = spec
        self._length = len(flat)

    def pass_by(self, element: Any) -> None:
        """In the graph of the map."""
        flat = self._tf.nest.flatten(element)
        for index, variable in self._kept.items():
            variable.assign(flat[index])

    def take(self) -> Optional[Any]:
        """The newest batch, as arrays in its own structure; None if there is none yet."""
        flat: list[Any] = [None] * self._length
        for index, variable in self._kept.items():
            flat[index] = variable.numpy()
            if not flat[index].size:
                return None
        return self._tf.nest.pack_sequence_as(self._spec, flat)


def tap_of(probe: Probe, spec: Any) -> Optional[Tap]:
    """A tap for the data set of the fit that is about to begin; none where looking has come to its end."""
    tap = probe.shield.call("batch tap", Tap, spec) if probe.extras.get("tap wanted", True) else None
    probe.extras["tap"] = tap
    return tap


def _holds_numbers(tf: Any, part: Any) -> bool:
    if not isinstance(part, tf.TensorSpec) or part.shape.rank is None or part.shape.rank == 0:
        return False
    return bool(part.dtype.is_floating or part.dtype.is_integer or part.dtype.is_bool) and part.dtype != tf.bfloat16
