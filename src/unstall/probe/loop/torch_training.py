"""The steps of a PyTorch loop, one's own or a trainer's: updates by an optimizer, over batches of a DataLoader or anything else.

A step is a call of an optimizer's `step`. Where several take turns (a GAN), the first that was seen beats the time. Waiting for
input is the time in the `next` of a DataLoader. The loss is the scalar whose `backward` was called last; it is read seldom, and
only in the memory of the CPU: to read it from another device would wait for that.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.coverage import LOSS, get_coverage
from unstall.probe.loop.custom_training import OwnLoop, get_loop
from unstall.probe.loop.losses import get_loss_watch

MAX_SETS = 1000  # data sets that are told apart


class TorchLoop:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._loop: OwnLoop = get_loop(probe)
        self._began = 0.0
        self._thread = 0
        self._loss: Any = None
        self._sees_losses = False
        self._optimizer: Any = None  # a weak reference to the one that was called last
        get_loss_watch(probe).on_broken.append(self._loss_broke)
        self._sets: dict[int, Any] = {}
        self._is_secondary = _is_secondary(probe)

    def is_mine(self) -> bool:
        return self._probe.active and not self._is_secondary and self._loop.is_mine()

    def backward_began(self, loss: Any) -> None:
        self._began, self._thread = time.monotonic(), threading.get_ident()
        readable = loss.dim() == 0 and loss.device.type == "cpu" and loss.is_floating_point()
        self._loss = loss.detach() if readable else None
        if readable and not self._sees_losses:
            self._sees_losses = True
            coverage = get_coverage(self._probe)
            coverage.hook_installed("torch", (LOSS,))
            coverage.report()

    def updated(self, optimizer: Any) -> None:
        """In the thread of the last `backward`: an optimizer may also be used for something else."""
        if self._thread != threading.get_ident():
            return
        loss = self._loss
        self._optimizer = weakref.ref(optimizer)
        self._loop.trained(id(optimizer), self._began, lambda: loss, "torch")

    def _loss_broke(self) -> None:
        """With which rate the weights were moved until then."""
        optimizer = self._optimizer() if self._optimizer is not None else None
        groups = getattr(optimizer, "param_groups", None)
        if not groups or not self._loop.is_open:
            return
        facts = {
            "kind": "rate",
            "optimizer": type(optimizer).__name__,
            "learning_rate": as_number(groups[0].get("lr")),
            "momentum": as_number(groups[0].get("momentum", 0.0)),
        }
        self._probe.emit(LoopSeen(at=time.time(), facts=facts))

    def token(self, iterator: Any) -> Any:
        """Stands for the data set of an iterator, which is not kept."""
        if len(self._sets) > MAX_SETS:
            self._sets.clear()
        return self._sets.setdefault(id(getattr(iterator, "_dataset", None)), object())


def _is_secondary(probe: Probe) -> bool:
    """Whether this is one of several workers that one program has started, and not the first of them, which tells the run.

    A worker with a watcher of its own has a run of its own.
    """
    if os.environ.get("RANK", "0") in ("", "0"):
        return False
    own = probe.run.journal_path("probe", probe.pid).name
    return any(path.name != own for path in probe.run.path.glob("events-probe-*.jsonl"))


def _torch_loop_of(probe: Probe) -> TorchLoop:
    found: Optional[TorchLoop] = probe.extras.get("torch loop")
    if found is None:
        found = probe.extras["torch loop"] = TorchLoop(probe)
    return found


def install_optimizers(module: ModuleType, probe: Probe) -> bool:
    """torch.optim.optimizer: from PyTorch 2.0 on it offers to tell of each update; before, `step` of each class of optimizers is
    wrapped when the first of its kind is made."""
    loop = _torch_loop_of(probe)

    def unstall_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if loop.is_mine():
            probe.shield.call("torch steps", loop.updated, optimizer)

    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(unstall_step)
    else:
        _wrap_steps(getattr(module, "Optimizer", None), probe, unstall_step)
    return register is not None


def _wrap_steps(base: Any, probe: Probe, unstall_step: Callable[..., None]) -> None:
    inside = threading.local()

    def make_step(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(inside, "is_in", False):  # of a class that calls the `step` of its base
                return original(optimizer, *args, **kwargs)
            inside.is_in = True
            try:
                result = original(optimizer, *args, **kwargs)
            finally:
                inside.is_in = False
            unstall_step(optimizer, args, kwargs)
            return result

        return step

    def wrap_step(optimizer: Any) -> None:
        for kind in type(optimizer).__mro__:
            if kind is not base and "step" in vars(kind):
                wrap(kind, "step", make_step)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            probe.shield.call("torch steps", wrap_step, optimizer)

        return __init__

    wrap(base, "__init__", make)


def install_tensors(module: ModuleType, probe: Probe) -> None:
    """torch._tensor: the loss from which gradients are computed."""
    loop = _torch_loop_of(probe)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if loop.is_mine():
                probe.shield.call("torch losses", loop.backward_began, tensor)
            return original(tensor, *args, **kwargs)

        return backward

    wrap(getattr(module, "Tensor", None), "backward", make)


def install_loaders(module: ModuleType, probe: Probe) -> None:
    """torch.utils.data.dataloader: `for batch in loader` in Python."""
    loop, own, call = _torch_loop_of(probe), get_loop(probe), probe.shield.call

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def __next__(iterator: Any) -> Any:
            if not loop.is_mine():
                return original(iterator)
            source = call("torch batches", loop.token, iterator)
            is_first = getattr(iterator, "_num_yielded", 1) == 0
            began = call("torch batches", own.next_began, source, is_first) or time.monotonic()
            try:
                batch = original(iterator)
            except StopIteration:
                call("torch batches", own.next_ended, source, began, True)
                raise
            call("torch batches", own.next_ended, source, began, False)
            return batch

        return __next__

    wrap(getattr(module, "_BaseDataLoaderIter", None), "__next__", make)
