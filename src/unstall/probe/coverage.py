"""Which signals the probe sees in this program: what its hooks give, against what is expected of the frameworks that are loaded.

A hook needs a certain place in a framework, and another version may not have it. Then the program runs as it would alone, and the
story says what is not seen: that no cause was found says nothing about it.
"""

from __future__ import annotations

import time
from typing import Any, Optional

from unstall.journal.events import SignalsSeen
from unstall.probe.core.probe import Probe

STEPS, LOSS, GRADIENTS, LABELS = "steps", "loss", "gradients", "labels"
WEIGHTS, LEARNING_RATE = "weights", "learning rate"
INPUT_WAIT, PIPELINE, SAVES = "input wait", "pipeline stages", "checkpoint times"
TRACES, COMPILATIONS = "function traces", "compilations"  # of tf.function, and of JAX
# What a training with each framework is expected to show.
EXPECTED = {
    "tensorflow": (STEPS, LOSS, GRADIENTS, WEIGHTS, LEARNING_RATE, INPUT_WAIT, PIPELINE, TRACES, SAVES),
    "keras": (STEPS, LOSS, GRADIENTS, WEIGHTS, LEARNING_RATE, LABELS, INPUT_WAIT, SAVES),
    "tf_keras": (STEPS, LOSS, GRADIENTS, WEIGHTS, LEARNING_RATE, LABELS, INPUT_WAIT, SAVES),
    "jax": (STEPS, LOSS, GRADIENTS, WEIGHTS, COMPILATIONS),
    "torch": (STEPS, LOSS, GRADIENTS, INPUT_WAIT),
}
# The other frameworks whose training a hook sees, too: Keras trains on any backend, and Keras 2 asks TensorFlow for gradients.
_ALSO_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "keras": {name: signals for name, signals in EXPECTED.items() if name != "tf_keras"},
    "tf_keras": {"tensorflow": EXPECTED["tensorflow"]},
    "tensorflow": {"keras": (GRADIENTS,), "tf_keras": (GRADIENTS,)},
}
_PARTS = {"tensorflow_core": "tensorflow"}  # packages under another name


class Coverage:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._frameworks: dict[str, str] = {}
        self._seen: dict[str, set[str]] = {name: set() for name in EXPECTED}
        self._reported: Any = None

    def framework_loaded(self, name: str, version: str) -> None:
        self._frameworks[name] = version

    def hook_installed(self, module: str, gives: tuple[str, ...]) -> None:
        """A hook has found its place in this module."""
        package = module.partition(".")[0]
        package = _PARTS.get(package, package)
        self._seen.setdefault(package, set()).update(gives)
        for other, signals in _ALSO_OF.get(package, {}).items():
            self._seen[other].update(signal for signal in gives if signal in signals)

    def hook_is_blind(self, gives: tuple[str, ...], frameworks: tuple[str, ...] = tuple(EXPECTED)) -> None:
        """The program trains with these in a way that a hook, which has found its place, does not see."""
        for framework in frameworks:
            self._seen[framework].difference_update(gives)

    def report(self) -> None:
        """Where it is not what was told before."""
        not_seen = {}
        for name in self._frameworks:
            missing = [signal for signal in EXPECTED.get(name, ()) if signal not in self._seen[name]]
            if missing:
                not_seen[name] = missing
        seen = {signal for name in self._frameworks for signal in self._seen.get(name, ())}
        now = (dict(self._frameworks), sorted(seen), not_seen)
        if self._frameworks and now != self._reported:
            self._reported = now
            self._probe.emit(SignalsSeen(at=time.time(), pid=self._probe.pid, frameworks=now[0], seen=now[1], not_seen=not_seen))


def get_coverage(probe: Probe) -> Coverage:
    found: Optional[Coverage] = probe.extras.get("coverage")
    if found is None:
        made = found = probe.extras["coverage"] = Coverage(probe)
        probe.on_fit.append(lambda model: made.report())
    return found
