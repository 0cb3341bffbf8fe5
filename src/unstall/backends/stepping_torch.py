"""A training step on PyTorch, which compiles nothing: what is done to every tensor is done to all of them in one kernel, and
whether an update is applied is decided on the device, so that nobody waits for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from keras import ops

from unstall.detectors.parts.chance import Draw
from unstall.training.program import Computed, Program
from unstall.training.update import BETAS, EPSILON, SLOTS, average_decay, scale_of, scaled

if TYPE_CHECKING:
    from unstall.backends.stepping import Arrays

Tensors = dict[str, torch.Tensor]


class TorchStepping:
    def __init__(self, program: Program, state: Arrays) -> None:
        self.program = program
        own = {f"weights/{name}": variable.value for name, variable in program.variables.items()}
        made = {name: ops.convert_to_tensor(value.copy()) for name, value in state.items() if name not in own}
        self._state: Tensors = {**own, **made}
        # Batches may not be written to, and a step does not.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        self.restore(state)

    def __call__(self, batch: Arrays, rate: float, key: np.ndarray) -> torch.Tensor:
        tensors = {name: self._put(array) for name, array in batch.items()}
        computed, gradients = self._differentiated(tensors, self._put(key))
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

    def lent(self) -> AbstractContextManager[None]:
        return nullcontext()  # nothing that Keras computes changes what variables hold

    @contextmanager
    def averaged(self) -> Iterator[None]:
        weights, averages = (self._all(kind, self.program.changing) for kind in ("weights", "average"))
        before = [weight.detach().clone() for weight in weights]
        with torch.no_grad():
            torch._foreach_copy_(weights, averages)
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(weights, before)

    def _all(self, kind: str, names: Any) -> list[torch.Tensor]:
        return [self._state[f"{kind}/{name}"] for name in names]

    # --- gradients ---

    def _differentiated(self, batch: Tensors, key: torch.Tensor) -> tuple[Computed, list[torch.Tensor]]:
        """One part of the batch after the other, its losses shared by what the whole batch holds, and gradients summed up."""
        program = self.program
        draws = [Draw(key, place * program.micro_batch) for place in range(program.micro_batches)]
        parts = [{name: each[draw.first_image :][: program.micro_batch] for name, each in batch.items()} for draw in draws]
        statistics = {name: self._state[f"weights/{name}"] for name in program.statistics}
        counts = None
        if program.micro_batches > 1:
            with torch.no_grad():
                counts = sum(program.counts(statistics, part, draw) for part, draw in zip(parts, draws, strict=True))
        weights = self._all("weights", program.trained)
        scale = scale_of(self._state, program.rules)
        losses: Any = 0.0
        gradients: list[torch.Tensor] = []
        for part, draw in zip(parts, draws, strict=True):
            total, computed = program.losses(statistics, part, draw, counts, scale)
            # As weights lie: a gradient may be a turned view, and kernels over many tensors go through their memory in a row.
            more = [each.contiguous() for each in torch.autograd.grad(total, weights, allow_unused=True, materialize_grads=True)]
            if gradients:
                torch._foreach_add_(gradients, more)
            gradients = gradients or more
            losses = losses + computed.losses.detach()
            statistics = {name: each.detach() for name, each in computed.statistics.items()}
        return Computed(losses, statistics), gradients

    # --- the update ---

    def _update(self, computed: Computed, gradients: list[torch.Tensor], rate: float) -> torch.Tensor:
        """As `unstall.training.update.updated` has it, in place."""
        program, rules, state = self.program, self.program.rules, self._state
        scale = torch.as_tensor(scale_of(state, rules), dtype=torch.float32, device=gradients[0].device).clone()
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))) / scale
        is_applied = torch.isfinite(norm) & torch.isfinite(computed.losses.sum())
        divisor = scale * torch.clamp(norm / rules.clip_norm, min=1.0) if rules.clip_norm else scale
        self._change(gradients, divisor, (~is_applied).float(), rate)
        self._keep(computed.statistics, is_applied)
        if rules.average_decay:
            decay = torch.where(is_applied, average_decay(state, rules), 1.0)
            averages, values = (self._all(kind, program.changing) for kind in ("average", "weights"))
            torch._foreach_mul_(averages, decay)
            torch._foreach_add_(averages, torch._foreach_mul(values, 1 - decay))
        state["updates"].add_(is_applied)
        for name, value in scaled(state, is_applied, rules).items():
            state[name].copy_(value)
        return program.told(computed.losses, norm, is_applied, scale)

    def _change(self, gradients: list[torch.Tensor], divisor: torch.Tensor, is_skipped: torch.Tensor, rate: float) -> None:
        """Those with decay and those without, each by one kernel that divides the gradients first and, where they are to be
        skipped, does nothing."""
        rules = self.program.rules
        of_name = dict(zip(self.program.trained, gradients, strict=True))
        for decay in {rules.decay_of(gradient) for gradient in gradients}:
            names = [name for name, gradient in of_name.items() if rules.decay_of(gradient) == decay]
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
