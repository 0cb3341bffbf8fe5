"""The steps of one's own PyTorch loop: `loss.backward()`, `optimizer.step()`, batches from a DataLoader.

A step is a step of an optimizer of PyTorch's; where several lines take turns, the first that was seen beats the time. Its loss is
what `backward` was called on last, and is read seldom (`own_loop.Losses`). Where a GradScaler has multiplied the loss, the loss
before that is taken. Within a Keras fit, whose own hooks count, nothing is done here.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.inside.own_loop import OwnLoop, loop_of
from unstall.inside.patching import wrap
from unstall.inside.places import user_place
from unstall.inside.probe import Probe
from unstall.inside.steps import EACH_STEP_UP_TO

MOST_SETS = 100
REST_S = 0.05


class TorchLoop:
    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.loop: OwnLoop = loop_of(probe)
        self.last_loss: Any = None  # detached, so that no graph is kept alive
        self.scaled_by: Any = None  # a GradScaler: the loss that it made, and the one before that
        self.is_resting = False
        self._rests_until = 0.0
        self._rested: list[Any] = []  # losses of the steps that were only counted
        self._clock: Callable[[], Any] = lambda: None  # the optimizer whose steps are counted
        self._began = 0.0  # of the last backward pass
        self._sets: dict[int, object] = {}

    # --- the loss ---

    def scaled(self, outputs: Any, result: Any) -> None:
        """A GradScaler made the second of the first."""
        if _is_scalar(outputs):
            self.scaled_by = (weakref.ref(result), outputs.detach())

    def keep(self, loss: Any) -> None:
        self.last_loss = loss.detach() if _is_scalar(loss) else None

    def went_back(self, loss: Any, began: float) -> None:
        if not self.loop.is_mine():
            return
        scaled, self.scaled_by = self.scaled_by, None
        is_scaled = scaled is not None and loss is scaled[0]()
        self.last_loss = scaled[1] if is_scaled else loss.detach() if _is_scalar(loss) else None
        self._began = began

    def loss(self) -> Any:
        return self.last_loss

    # --- steps ---

    def stepped(self, optimizer: Any) -> None:
        """Steps that follow soon upon one that was told are only counted, and told together with the next: to tell
        each of them would cost more than a short step may."""
        now = time.monotonic()
        is_clock = optimizer is self._clock()
        if self.is_resting and now < self._rests_until:
            if is_clock:
                self._rested.append(self.last_loss)
            return
        self.is_resting = False
        if not self.loop.is_mine():
            return
        if not is_clock:
            self.settle()
        losses = [*self._rested, self.last_loss]
        self._rested.clear()
        before, began = self.probe.train.done if self.loop.is_open else 0, self._began or now
        self.loop.trained(user_place(), began, self.loss, "torch", (len(losses), None), losses)
        done = self.probe.train.done
        if done > before and done > EACH_STEP_UP_TO and not self.probe.wants_next_step:
            self._clock = weakref.ref(optimizer)  # its line beats the time
            self._rests_until = now + REST_S
            self.is_resting = True
            self.probe.settle = self.settle

    def settle(self) -> None:
        """Tells the steps that were only counted: something else comes next."""
        losses = list(self._rested)
        self._rested.clear()
        self.is_resting = False
        if losses and self.loop.is_open:
            self.loop.trained(self.loop.clock, time.monotonic(), self.loss, "torch", (len(losses), None), losses)

    # --- batches ---

    def source(self, iterator: Any) -> object:
        """Stands for the data set of a loader, which is not kept alive."""
        key = id(getattr(iterator, "_dataset", iterator))
        if key not in self._sets and len(self._sets) >= MOST_SETS:
            self._sets.clear()
        return self._sets.setdefault(key, object())


def _is_scalar(value: Any) -> bool:
    return getattr(value, "ndim", None) == 0


def torch_loop_of(probe: Probe) -> TorchLoop:
    loop: Optional[TorchLoop] = probe.extras.get("torch loop")
    if loop is None:
        loop = probe.extras["torch loop"] = TorchLoop(probe)
    return loop


def install_tensors(module: ModuleType, probe: Probe) -> None:
    """torch._tensor: `loss.backward()`."""
    loop, call = torch_loop_of(probe), probe.shield.call

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if loop.is_resting and loop.scaled_by is None:  # these few lines are most of what a short step costs
                result = original(tensor, *args, **kwargs)
                call("loss", loop.keep, tensor)
                return result
            began = time.monotonic()
            result = original(tensor, *args, **kwargs)
            if probe.active:
                call("backward", loop.went_back, tensor, began)
            return result

        return backward

    wrap(module.Tensor, "backward", make)


def install_scalers(module: ModuleType, probe: Probe) -> None:
    """torch.amp.grad_scaler: the loss times a large number."""
    loop, call = torch_loop_of(probe), probe.shield.call

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(scaler, outputs, *args, **kwargs)
            if probe.active:
                call("loss scale", loop.scaled, outputs, result)
            return result

        return scale

    wrap(module.GradScaler, "scale", make)


def install_optimizers(module: ModuleType, probe: Probe) -> None:
    """torch.optim.optimizer: after each step of any of them."""
    loop = torch_loop_of(probe)

    def unstall_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if probe.active:
            probe.shield.call("torch steps", loop.stepped, optimizer)

    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(unstall_step)


def install_loaders(module: ModuleType, probe: Probe) -> None:
    """torch.utils.data.dataloader: `for batch in loader`, in the process that trains."""
    torch_loop, loop, call = torch_loop_of(probe), loop_of(probe), probe.shield.call

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def __next__(iterator: Any) -> Any:
            if not probe.active or not loop.is_mine():
                return original(iterator)
            source = call("loaders", torch_loop.source, iterator)
            if torch_loop.is_resting and source is not loop.fed_by:
                call("loaders", torch_loop.settle)
            began = call("loaders", loop.next_began, source) or time.monotonic()
            try:
                batch = original(iterator)
            except StopIteration:
                call("loaders", torch_loop.settle)
                call("loaders", loop.next_ended, source, began, True)
                raise
            call("loaders", loop.next_ended, source, began, False)
            return batch

        return __next__

    wrap(module._BaseDataLoaderIter, "__next__", make)
