"""One update, held against PyTorch's own optimizers and against what is said of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from keras import ops

from unstall.config.settings import Settings
from unstall.training.step.optimizer import FIRST_SCALE, GROWS_AFTER, MAX_SCALE, Rules, State, create_state, update_state

STEPS = 4
SHAPES = {"kernel": (3, 3, 2, 4), "matrix": (5, 4), "bias": (4,), "gamma": (4,)}
OPTIMIZERS = ("sgd", "adamw")


def rules(**changes: Any) -> Rules:
    return Rules.of(Settings(**{"weight_decay": 0.1, "momentum": 0.8, "clip_norm": 0.0, **changes}))


def weights(seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}


def initial_state(own: Rules) -> State:
    first = weights()
    state = {**{f"weights/{name}": value for name, value in first.items()}, **create_state(first, first, own)}
    return {name: ops.convert_to_tensor(value) for name, value in state.items()}


def tensors(values: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: ops.convert_to_tensor(value) for name, value in values.items()}


def after(own: Rules, state: State, gradients: dict[str, np.ndarray], rate: float = 0.1, loss: float = 1.0) -> tuple[State, Any]:
    state, _, is_applied = update_state(state, tensors(gradients), {}, ops.convert_to_tensor(loss), rate, own)
    return state, bool(is_applied)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("clip_norm", [0.0, 2.0])
def test_it_is_that_of_pytorch_which_spares_norms_and_biases(optimizer: str, clip_norm: float) -> None:
    own = rules(optimizer=optimizer, clip_norm=clip_norm)
    theirs = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in weights().items()}
    groups = [
        {"params": [theirs["kernel"], theirs["matrix"]], "weight_decay": 0.1},
        {"params": [theirs["bias"], theirs["gamma"]], "weight_decay": 0.0},
    ]
    other = torch.optim.SGD(groups, lr=0.1, momentum=0.8) if optimizer == "sgd" else torch.optim.AdamW(groups, lr=0.1)
    state = initial_state(own)
    for step in range(STEPS):
        gradients = weights(seed=step + 1)
        state, _ = after(own, state, gradients)
        for name, parameter in theirs.items():
            parameter.grad = torch.tensor(gradients[name])
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(theirs.values(), clip_norm)
        other.step()
        for name, parameter in theirs.items():
            np.testing.assert_allclose(state[f"weights/{name}"].numpy(), parameter.detach().numpy(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_what_is_not_finite_changes_nothing(optimizer: str, where: str) -> None:
    own = rules(optimizer=optimizer, ema_decay=0.9)
    state, is_applied = after(own, initial_state(own), weights(seed=1))
    assert is_applied
    bad = weights(seed=2)
    if where == "gradient":
        bad["bias"][1] = np.inf
    statistics = {"matrix": ops.convert_to_tensor(np.full(SHAPES["matrix"], np.nan, np.float32))}
    loss = ops.convert_to_tensor(np.float32(np.nan if where == "loss" else 1.0))
    same, _, is_applied = update_state(state, tensors(bad), statistics, loss, 0.1, own)
    assert not is_applied
    assert all(np.array_equal(same[name].numpy(), state[name].numpy()) for name in state)
    assert set(same) == set(state)


def test_the_average_follows_faster_at_first() -> None:
    own = rules(ema_decay=0.99)
    state = initial_state(own)
    expected = weights()["kernel"].astype(np.float64)
    for step in range(STEPS):
        state, _ = after(own, state, weights(seed=step + 1))
        decay = min(0.99, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * state["weights/kernel"].numpy()
    np.testing.assert_allclose(state["average/kernel"].numpy(), expected, rtol=1e-5, atol=1e-6)
    assert "average/kernel" not in initial_state(rules(ema_decay=0.0))


def test_a_scaled_loss_gives_the_same_update() -> None:
    wide, narrow = rules(), rules(precision="float16")
    gradients = weights(seed=1)
    scaled = {name: value * np.float32(FIRST_SCALE) for name, value in gradients.items()}
    (one, _), (other, _) = after(wide, initial_state(wide), gradients), after(narrow, initial_state(narrow), scaled)
    for name in SHAPES:
        np.testing.assert_allclose(one[f"weights/{name}"].numpy(), other[f"weights/{name}"].numpy(), rtol=1e-6)


def test_the_scale_is_halved_by_an_overflow_and_doubled_by_a_long_calm() -> None:
    own = rules(precision="float16")
    bad = weights(seed=1) | {"bias": np.full(4, np.inf, np.float32)}
    state, is_applied = after(own, initial_state(own), bad)
    assert not is_applied and float(state["loss_scale"]) == FIRST_SCALE / 2
    state["updates_at_scale"] = ops.convert_to_tensor(np.float32(GROWS_AFTER - 1))
    state, _ = after(own, state, weights(seed=2))
    assert float(state["loss_scale"]) == FIRST_SCALE and float(state["updates_at_scale"]) == 0
    state, _ = after(own, state, weights(seed=3))
    assert float(state["loss_scale"]) == FIRST_SCALE and float(state["updates_at_scale"]) == 1


def test_the_scale_has_its_bounds() -> None:
    own = rules(precision="float16")
    state = initial_state(own)
    state["loss_scale"] = ops.convert_to_tensor(np.float32(1.0))
    state, _ = after(own, state, weights(seed=1) | {"bias": np.full(4, np.nan, np.float32)})
    assert float(state["loss_scale"]) == 1
    state["loss_scale"] = ops.convert_to_tensor(np.float32(MAX_SCALE))
    state["updates_at_scale"] = ops.convert_to_tensor(np.float32(GROWS_AFTER - 1))
    assert float(after(own, state, weights(seed=2))[0]["loss_scale"]) == MAX_SCALE
