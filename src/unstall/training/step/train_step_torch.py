"""A training step on PyTorch, which compiles nothing: on a card what it launches is recorded, and launched again in one go; what
is done to every tensor is done to all of them in one kernel; and whether an update is applied is decided on the device, so that
nobody waits for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from keras import ops

from unstall.detectors.layers.rng import Draw
from unstall.training.step.ema import EMA_WARMUP
from unstall.training.step.optimizer import BETAS, EPSILON, SLOTS, get_scale, update_loss_scale
from unstall.training.step.step import Program, StepResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unstall.training.step.cuda_graphs import GraphReplay
    from unstall.training.step.step import Arrays

    PartFunction = Callable[..., Sequence[torch.Tensor]]  # of a part of the batch

Tensors = dict[str, torch.Tensor]
PART = ("images", "boxes", "classes", "mask")  # what a step reads of a batch


class PendingOutput:
    """What a step tells, on its way to the host. Whoever reads it waits for that step alone: asked for later, it would come
    behind all that is under way by then, and the card would have nothing to do until the next step is launched."""

    def __init__(self, output: torch.Tensor) -> None:
        self._held = torch.empty(output.shape, dtype=output.dtype, pin_memory=True)
        self._held.copy_(output, non_blocking=True)
        self._is_there = torch.cuda.Event()
        self._is_there.record()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self._is_there.synchronize()
        return np.array(self._held.numpy(), dtype)


class TorchTrainStep:
    def __init__(self, program: Program, state: Arrays) -> None:
        self.program = program
        own = {f"weights/{name}": variable.value for name, variable in program.variables.items()}
        made = {name: ops.convert_to_tensor(value.copy()) for name, value in state.items() if name not in own}
        self._state: Tensors = {**own, **made}
        device = self._state["updates"].device
        self._firsts = [
            torch.tensor(part * program.micro_batch_size, dtype=torch.int32, device=device)
            for part in range(program.micro_batches)
        ]
        self._one = torch.ones((), device=device)
        places = {name: place for place, names in enumerate(program.groups.values()) for name in names}
        self._groups = torch.tensor([places[name] for name in program.trained], dtype=torch.int32, device=device)
        self._differentiate: PartFunction = self._one_part
        self._count: PartFunction = self._counts_of_part
        self._replays: tuple[GraphReplay, ...] = ()
        if device.type == "cuda":
            self._replay_on_card()
        # Batches may not be written to, and a step does not.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        self.restore(state)

    def _replay_on_card(self) -> None:
        """What a part of the batch launches is recorded, and launched again in one go."""
        from unstall.training.step.cuda_graphs import GraphReplay

        self._replays = GraphReplay(self._differentiate), GraphReplay(self._count)
        self._differentiate, self._count = self._replays
        if not torch.are_deterministic_algorithms_enabled():
            torch.backends.cudnn.benchmark = True  # shapes never change: the quickest kernels are worth a search

    def __call__(self, batch: Arrays, rate: float, key: np.ndarray) -> torch.Tensor | PendingOutput:
        output = self.on_device({name: self._put(array) for name, array in batch.items()}, rate, self._put(key))
        return PendingOutput(output) if output.device.type == "cuda" else output

    def on_device(self, batch: Tensors, rate: float, key: torch.Tensor) -> torch.Tensor:
        """A step on what lies there already."""
        computed, gradients = self._differentiated(batch, key)
        with torch.no_grad():
            return self._update(computed, gradients, rate)

    def _put(self, array: np.ndarray) -> torch.Tensor:
        """On the device, by way of memory that it reads by itself: of other memory a copy waits for all that is under way."""
        tensor, device = torch.from_numpy(array), self._state["updates"].device
        return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)

    def arrays(self) -> Arrays:
        return {name: np.array(tensor.detach().cpu().numpy()) for name, tensor in self._state.items()}

    def restore(self, arrays: Arrays) -> None:
        with torch.no_grad():
            for name, tensor in self._state.items():
                tensor.copy_(torch.from_numpy(np.array(arrays[name])))

    def lend_weights(self) -> AbstractContextManager[None]:
        self._make_room()
        return nullcontext()  # nothing that Keras computes changes what variables hold

    @contextmanager
    def get_ema_weights(self) -> Iterator[None]:
        self._make_room()
        weights, averages = (self._all(kind, self.program.changing) for kind in ("weights", "average"))
        before = [weight.detach().clone() for weight in weights]
        with torch.no_grad():
            torch._foreach_copy_(weights, averages)
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(weights, before)

    def _make_room(self) -> None:
        """What is computed in between needs no more than a step does: there is room for it beside one that takes under half."""
        device = self._state["updates"].device
        if device.type == "cuda" and torch.cuda.memory_reserved(device) > torch.cuda.mem_get_info(device)[1] / 2:
            for replay in self._replays:
                replay.forget()
            torch.cuda.empty_cache()

    def _all(self, kind: str, names: Any) -> list[torch.Tensor]:
        return [self._state[f"{kind}/{name}"] for name in names]

    # --- gradients ---

    def _differentiated(self, batch: Tensors, key: torch.Tensor) -> tuple[StepResult, list[torch.Tensor]]:
        """One part of the batch after the other, its losses shared by what the whole batch holds, and gradients summed up."""
        program, size = self.program, self.program.micro_batch_size
        parts = [[batch[name][place * size :][:size] for name in PART] for place in range(program.micro_batches)]
        draws = [(key, first) for first in self._firsts]
        statistics: Any = self._all("weights", program.statistics)
        counts: list[torch.Tensor] = []
        if len(parts) > 1:
            with torch.no_grad():
                counted = [self._count(*part, *draw, *statistics)[0].clone() for part, draw in zip(parts, draws, strict=True)]
            counts = [torch.stack(counted).sum(0)]
        scale = self._scale()
        losses, gradients = None, []
        for part, draw in zip(parts, draws, strict=True):
            own, *rest = self._differentiate(*part, *draw, scale, *statistics, *counts)
            more, statistics = rest[: len(program.trained)], rest[len(program.trained) :]
            if losses is None:
                losses, gradients = own, more
            else:
                losses = losses + own
                torch._foreach_add_(gradients, more)
            if len(parts) > 1 and part is parts[0]:  # the next part is written to the same place
                losses, gradients = losses.clone(), [each.clone() for each in gradients]
        return StepResult(losses, dict(zip(program.statistics, statistics, strict=True))), gradients

    def _one_part(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Its losses, the gradients of all that learns, and statistics after it. Of tensors alone, so that it can be recorded."""
        program, known = self.program, len(PART)
        part, (key, first, scale) = dict(zip(PART, tensors[:known], strict=True)), tensors[known : known + 3]
        rest = tensors[known + 3 :]
        statistics = dict(zip(program.statistics, rest, strict=False))
        counts = rest[-1] if len(rest) > len(statistics) else None
        weights = self._all("weights", program.trained)
        with torch.enable_grad():
            total, computed = program.losses(statistics, part, Draw(key, first), counts, scale)
            found = torch.autograd.grad(total, weights, allow_unused=True, materialize_grads=True)
        # As weights lie: a gradient may be a turned view, and kernels over many tensors go through their memory in a row.
        gradients = [each.contiguous() for each in found]
        return [computed.losses.detach(), *gradients, *(each.detach() for each in computed.statistics.values())]

    def _counts_of_part(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        known = len(PART)
        part, (key, first) = dict(zip(PART, tensors[:known], strict=True)), tensors[known : known + 2]
        statistics = dict(zip(self.program.statistics, tensors[known + 2 :], strict=True))
        return [self.program.counts(statistics, part, Draw(key, first))]

    # --- the update ---

    def _scale(self) -> torch.Tensor:
        """Of the loss, on the device. A number that is brought there would wait for all that is under way."""
        scale = get_scale(self._state, self.program.rules)
        return scale if isinstance(scale, torch.Tensor) else self._one

    def _update(self, computed: StepResult, gradients: list[torch.Tensor], rate: float) -> torch.Tensor:
        """As `unstall.training.step.optimizer.update_state` has it, in place."""
        program, rules, state = self.program, self.program.rules, self._state
        scale = self._scale().clone()  # it may be halved below
        norms = torch.stack(torch._foreach_norm(gradients)) / scale
        norm = torch.linalg.vector_norm(norms)
        is_applied = torch.isfinite(norm) & torch.isfinite(computed.losses.sum())
        divisor = scale * torch.clamp(norm / rules.clip_norm, min=1.0) if rules.clip_norm else scale
        self._change(gradients, divisor, (~is_applied).float(), rate)
        self._keep(computed.statistics, is_applied)
        if rules.ema_decay:
            count = state["updates"]
            decay = torch.clamp((1 + count) / (EMA_WARMUP + count), max=rules.ema_decay)  # as `ema.compute_ema_decay`
            decay = torch.where(is_applied, decay, 1.0)
            averages, values = (self._all(kind, program.changing) for kind in ("average", "weights"))
            torch._foreach_mul_(averages, decay)
            torch._foreach_add_(averages, torch._foreach_mul(values, 1 - decay))
        state["updates"].add_(is_applied)
        for name, value in update_loss_scale(state, is_applied, rules).items():
            state[name].copy_(value)
        of_groups = torch.zeros(len(program.groups), device=norms.device).index_add_(0, self._groups, norms.square()).sqrt()
        return program.pack_output(computed.losses, of_groups, norm, is_applied, scale)

    def _change(self, gradients: list[torch.Tensor], divisor: torch.Tensor, is_skipped: torch.Tensor, rate: float) -> None:
        """Those with decay and those without, each by one kernel that divides the gradients first and, where they are to be
        skipped, does nothing."""
        rules = self.program.rules
        of_name = dict(zip(self.program.trained, gradients, strict=True))
        for decay in {rules.get_decay(gradient) for gradient in gradients}:
            names = [name for name, gradient in of_name.items() if rules.get_decay(gradient) == decay]
            weights = self._all("weights", names)
            slots = [self._all(slot, names) for slot in SLOTS[rules.optimizer]]
            own = [of_name[name] for name in names]
            if rules.optimizer == "sgd":
                kept = slots if rules.momentum else [[]]  # without momentum nothing is remembered
                torch._fused_sgd_(
                    weights, own, *kept, weight_decay=decay, momentum=rules.momentum, lr=rate, dampening=0.0, nesterov=False,
                    maximize=False, is_first_step=False, grad_scale=divisor, found_inf=is_skipped,
                )  # fmt: skip
            else:
                steps = [self._state["updates"] + 1] * len(names)
                torch._fused_adamw_(
                    weights, own, *slots, [], steps, lr=rate, beta1=BETAS[0], beta2=BETAS[1], weight_decay=decay, eps=EPSILON,
                    amsgrad=False, maximize=False, grad_scale=divisor, found_inf=is_skipped,
                )  # fmt: skip

    def _keep(self, statistics: Tensors, is_applied: torch.Tensor) -> None:
        """All of them laid in one row: as many kernels as there are norms would take longer than they compute."""
        if not statistics:
            return
        before, after = self._all("weights", statistics), list(statistics.values())
        rows = [torch.cat([each.reshape(-1) for each in side]) for side in (after, before)]
        kept = torch.where(is_applied, *rows).split([each.numel() for each in before])
        torch._foreach_copy_(before, [row.view(each.shape) for row, each in zip(kept, before, strict=True)])
