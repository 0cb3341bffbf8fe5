"""The steps of a PyTorch loop, one's own or a trainer's: updates by an optimizer, over batches of a DataLoader or anything else.

A step is a call of an optimizer's `step`. Where several take turns (a GAN), the first that was seen beats the time. A program may
also move its weights without an optimizer of PyTorch, by its own arithmetic or a library's: where a weight has changed from one
`backward` to the next and no such optimizer was called, each `backward` is a step. Waiting for input is the time in the `next` of
a DataLoader. The loss is the scalar whose `backward` was called last; it is read seldom, and only in the memory of the CPU: to
read it from another device would wait for that.
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
from unstall.probe.core.user_code import find_user_place
from unstall.probe.coverage import LOSS, get_coverage
from unstall.probe.loop.custom_training import OwnLoop, get_loop
from unstall.probe.loop.losses import get_loss_watch

MAX_SETS = 1000  # data sets that are told apart
MAX_LOOKS = 24  # at a weight, to see whether it is moved without an optimizer of PyTorch
MAX_NODES = 500  # of the graph of a loss, in which a weight is looked for
LOOKED_AT = 64  # numbers of that weight


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
        self._own_updates = _OwnUpdates()

    def is_mine(self) -> bool:
        return self._probe.active and not self._is_secondary and self._loop.is_mine()

    def backward_began(self, loss: Any) -> None:
        self._began, self._thread = time.monotonic(), threading.get_ident()
        readable = loss.dim() == 0 and loss.device.type == "cpu" and loss.is_floating_point()
        self._loss = loss.detach() if readable else None
        if self._own_updates.is_in_question:
            self._probe.shield.within_budget("updates without an optimizer", self._own_updates.look, loss)
        if readable and not self._sees_losses:
            self._sees_losses = True
            coverage = get_coverage(self._probe)
            coverage.hook_installed("torch", (LOSS,))
            coverage.report()

    def update_began(self) -> None:
        if not self._own_updates.were_seen:
            self._own_updates.optimizer_called()

    def updated(self, optimizer: Any) -> None:
        """In the thread of the last `backward`: an optimizer may also be used for something else."""
        if self._thread != threading.get_ident():
            return
        if self._own_updates.were_seen:  # they lay within an update, as in the closure of LBFGS, or in the first half of one
            self._loop.change_clock(id(optimizer))
        self._own_updates.optimizer_called()
        self._optimizer = weakref.ref(optimizer)
        self._step_ended(id(optimizer))

    def backward_ended(self) -> None:
        if self._own_updates.were_seen and self._thread == threading.get_ident():
            self._step_ended(id(self))

    def _step_ended(self, updater: int) -> None:
        loss = self._loss
        self._loop.trained(updater, self._began, lambda: loss, "torch")

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


class _OwnUpdates:
    """Whether the weights are moved without an optimizer of PyTorch. Only weights in the memory of the CPU are looked at."""

    def __init__(self) -> None:
        self.were_seen = False
        self._looks = 0
        self._weight: Any = None  # a weak reference
        self._numbers = ""

    @property
    def is_in_question(self) -> bool:
        return not self.were_seen and self._looks < MAX_LOOKS

    def optimizer_called(self) -> None:
        self.were_seen, self._looks, self._weight = False, MAX_LOOKS, None

    def look(self, loss: Any) -> None:
        self._looks += 1
        weight = self._weight() if self._weight is not None else None
        if weight is None:
            weight = _find_weight(loss)
            if weight is not None:
                self._weight, self._numbers = weakref.ref(weight), _read_numbers(weight)
        else:
            self.were_seen = _read_numbers(weight) != self._numbers


def _find_weight(loss: Any) -> Any:
    """A parameter that the gradient of this loss goes to. An input that wants a gradient, as for an attack, is none."""
    nodes, seen = [loss.grad_fn], 0
    while nodes and seen < MAX_NODES:
        node, seen = nodes.pop(), seen + 1
        variable = getattr(node, "variable", None)
        if variable is not None and type(variable).__name__ == "Parameter" and variable.device.type == "cpu":
            return variable
        nodes.extend(below for below, _ in getattr(node, "next_functions", ()) if below is not None)
    return None


def _read_numbers(weight: Any) -> str:
    flat = weight.detach().reshape(-1)
    return repr(flat[:: max(1, flat.numel() // LOOKED_AT)].tolist())


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

    def unstall_update(optimizer: Any, args: Any, kwargs: Any) -> None:
        if loop.is_mine():  # what moves weights from now on, as between the calls of a closure, is an optimizer
            probe.shield.call("torch steps", loop.update_began)

    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(unstall_step)
        module.register_optimizer_step_pre_hook(unstall_update)
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
            result = original(tensor, *args, **kwargs)
            if loop.is_mine():
                probe.shield.call("torch losses", loop.backward_ended)
            return result

        return backward

    wrap(getattr(module, "Tensor", None), "backward", make)


def _is_empty(iterator: Any) -> bool:
    dataset: Any = getattr(iterator, "_dataset", None)
    return hasattr(dataset, "__len__") and len(dataset) == 0


def _report_empty(probe: Probe, raised: bool) -> None:
    """A loader that has no batch at all; `raised`: what draws from its data set stumbled over that."""
    probe.emit(LoopSeen(at=time.time(), facts={"kind": "empty", "where": find_user_place(), "raised": raised}))


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
                if is_first:
                    call("torch batches", _report_empty, probe, False)
                raise
            except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
                if is_first and call("torch batches", _is_empty, iterator):
                    call("torch batches", _report_empty, probe, True)
                raise
            call("torch batches", own.next_ended, source, began, False)
            return batch

        return __next__

    wrap(getattr(module, "_BaseDataLoaderIter", None), "__next__", make)
