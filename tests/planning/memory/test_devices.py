"""The table of cards, and what a backend can have of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstall.backends.allocators import compute_usable_bytes, find_visible_gpu, reserve_gpu, share_gpu
from unstall.base.errors import InvalidInputError
from unstall.planning.memory import devices

GIB = 2**30


def test_a_card_of_the_table_is_not_here_and_nobody_else_is_on_it() -> None:
    card = devices.find_device("h200")
    assert (card.kind, card.is_here, card.held_bytes) == ("cuda", False, 0)
    assert 139 * GIB < card.free_bytes < card.memory_bytes < 142 * GIB


@pytest.mark.parametrize(("typed", "meant"), [("H200", "h200"), ("a100-40GB", "a100_40gb"), ("RTX 4090", "rtx_4090")])
def test_names_are_taken_as_people_write_them(typed: str, meant: str) -> None:
    assert devices.find_device(typed).name == meant


def test_a_card_that_is_not_in_the_table_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match=r"There is no device 'h20'.*Did you mean 'h200'\? Devices: cpu, .*t4"):
        devices.find_device("h20")


def test_bfloat16_is_for_cards_that_multiply_it() -> None:
    assert devices.find_device("a100").has_bfloat16
    assert not devices.find_device("t4").has_bfloat16
    assert not devices.find_device("cpu").has_bfloat16


def test_the_cores_of_this_machine_have_its_memory() -> None:
    cpu = devices.find_device("cpu")
    assert cpu.is_here and 0 < cpu.free_bytes <= cpu.memory_bytes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"memory_bytes": None}, "memory_bytes: expected a whole number of 0 or more. Received: None"),
        ({"cores": -1}, "cores: expected a whole number of 0 or more. Received: -1"),
        ({"capability": [9]}, r"capability: expected two whole numbers, as in \[9, 0\]"),
        ({"clock_ghz": "fast"}, "clock_ghz: expected a number. Received: 'fast'"),
    ],
)
def test_a_table_of_a_user_is_checked_figure_by_figure(change: dict[str, object], said: str, tmp_path: Path) -> None:
    table = tmp_path / "cards.json"
    table.write_text(json.dumps({"mine": {**devices.list_gpus()["t4"], **change}}))
    with pytest.raises(InvalidInputError, match=f"cards.json: mine: {said}"):
        devices.find_device("mine", table)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "expected JSON"), ("[]", "expected cards by their names"), (None, "No such file")]
)
def test_a_table_that_is_none_is_refused(text: str | None, said: str, tmp_path: Path) -> None:
    table = tmp_path / "cards.json"
    if text is not None:
        table.write_text(text)
    with pytest.raises(InvalidInputError, match=said):
        devices.list_gpus(table)


def test_a_table_of_a_user_takes_the_place_of_ours(tmp_path: Path) -> None:
    table = tmp_path / "cards.json"
    table.write_text(json.dumps({"mine": {**devices.list_gpus()["t4"], "memory_bytes": 7 * GIB}}))
    assert devices.find_device("mine", table).memory_bytes == 7 * GIB
    with pytest.raises(InvalidInputError, match="Devices: cpu, mine"):
        devices.find_device("h200", table)


@pytest.mark.parametrize(
    ("description", "memory", "name"),
    [("NVIDIA H200", 143771 * 2**20, "h200"), ("NVIDIA A100-SXM4-40GB", 40 * GIB, "a100_40gb"), ("Tesla T4", 15 * GIB, "t4")],
)
def test_a_card_that_is_here_is_known_by_its_name_and_memory(description: str, memory: int, name: str) -> None:
    assert devices.find_nearest_gpu(description, memory) == devices.list_gpus()[name]


@pytest.mark.parametrize(
    ("environ", "index"),
    [
        ({}, 0),
        ({"CUDA_VISIBLE_DEVICES": "2,3"}, 2),
        ({"CUDA_VISIBLE_DEVICES": ""}, None),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, None),
        ({"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, 0),
        ({"JAX_PLATFORMS": "cpu"}, None),
    ],
)
def test_a_card_that_the_environment_hides_is_not_planned_with(environ: dict[str, str], index: int | None) -> None:
    assert find_visible_gpu("jax", environ) == index


# --- what a backend can have of it ---


def test_jax_takes_its_share_of_the_whole_card_or_what_it_is_told() -> None:
    assert compute_usable_bytes("jax", 100, 95, {})[0] == 92
    assert compute_usable_bytes("jax", 100, 60, {})[0] == 60
    assert compute_usable_bytes("jax", 100, 95, {"XLA_CLIENT_MEM_FRACTION": "0.75"})[0] == 75
    assert compute_usable_bytes("jax", 100, 95, {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".5"})[0] == 50
    assert compute_usable_bytes("jax", 100, 95, {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"})[0] == 95


def test_a_training_on_jax_takes_its_share_unless_the_user_has_said_another() -> None:
    environ: dict[str, str] = {}
    reserve_gpu("jax", environ)
    assert environ == {"XLA_CLIENT_MEM_FRACTION": "0.92"}
    for name in ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"):
        said = {name: "0.3"}
        reserve_gpu("jax", said)
        assert said == {name: "0.3"}


@pytest.mark.parametrize(
    ("backend", "name", "value", "other"),
    [
        ("jax", "XLA_PYTHON_CLIENT_PREALLOCATE", "false", "true"),
        ("tensorflow", "TF_FORCE_GPU_ALLOW_GROWTH", "true", "false"),
    ],
)
def test_what_only_looks_takes_nothing_of_the_card_ahead(backend: str, name: str, value: str, other: str) -> None:
    environ: dict[str, str] = {}
    share_gpu(backend, environ)
    assert environ[name] == value
    said = {name: other}
    share_gpu(backend, said)
    assert said[name] == other, "what the user has said holds"
    training: dict[str, str] = {}
    reserve_gpu(backend, training)
    assert name not in training


def test_pytorch_always_takes_what_it_needs() -> None:
    environ: dict[str, str] = {}
    share_gpu("torch", environ)
    assert environ == {}


@pytest.mark.parametrize("said", ["much", "0", "1.5"])
def test_a_share_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(InvalidInputError, match="XLA_CLIENT_MEM_FRACTION: expected a share of the card"):
        compute_usable_bytes("jax", 100, 90, {"XLA_CLIENT_MEM_FRACTION": said})


def test_the_others_take_what_is_free() -> None:
    assert compute_usable_bytes("torch", 100, 90, {})[0] == 90
    assert compute_usable_bytes("tensorflow", 1000, 900, {})[0] == 855
