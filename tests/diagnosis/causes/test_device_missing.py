"""device_missing: which device is asked for, where that is written, and why it is not to be had."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import device_missing
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

TORCH = "/x/site-packages/torch/cuda/__init__.py"
BUILD = {"what": "build", "name": "torch", "version": "2.13.0+cpu", "cuda": ""}
NOT_BUILT = "Torch not compiled with CUDA enabled"


def examine(kind: str, message: str, within: str = TORCH, code: str = "model.to(device)", **value: Any) -> Verdict:
    device = {"name": "device", "type": "str", "text": "'cuda:1'", "in_failing": True, **value}
    return device_missing.examine(failed(kind, message, line(9, code, device), within=within, makers=[BUILD], versions={}))


def found(kind: str, message: str, **more: Any) -> Found:
    verdict = examine(kind, message, **more)
    assert isinstance(verdict, Found)
    return verdict


def test_found_with_the_build_and_the_line_that_names_the_device() -> None:
    verdict = found("AssertionError", NOT_BUILT, made_at=4, made_by=["device = 'cuda:1'"])
    assert verdict.summary == (
        "The program asks for the device 'cuda:1' (`device`), written at train.py:4, and the installed PyTorch 2.13.0+cpu was built "
        "without CUDA."
    )
    assert verdict.where == "train.py:4"
    assert "torch.cuda.is_available()" in verdict.actions[0]


def test_found_with_the_line_of_the_settings() -> None:
    written = {
        "what": "device",
        "name": "device",
        "where": f"{FOLDER}/config.py:1",
        "first": 1,
        "source": ["A = {'device': 'cuda'}"],
    }
    row = line(9, "model.to(A['device'])", {"name": "A['device']", "type": "str", "text": "'cuda'", "in_failing": True})
    verdict = device_missing.examine(failed("AssertionError", NOT_BUILT, row, within=TORCH, makers=[BUILD, written], versions={}))
    assert isinstance(verdict, Found)
    assert verdict.where == "config.py:1"


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("RuntimeError", "No CUDA GPUs are available", "PyTorch finds no GPU of NVIDIA"),
        ("RuntimeError", "Found no NVIDIA driver on your system. Please check that you have one", "finds no GPU of NVIDIA"),
        (
            "RuntimeError",
            "The NVIDIA driver on your system is too old (found version 11040).",
            "driver of this machine is too old",
        ),
        ("RuntimeError", "CUDA error: invalid device ordinal", "fewer devices than that number needs"),
        ("RuntimeError", "PyTorch is not linked with support for mps devices", "was built without MPS"),
    ],
)
def test_found_of_other_reasons(kind: str, message: str, said: str) -> None:
    assert said in found(kind, message).summary


def test_a_checkpoint_of_another_machine_is_to_be_loaded_into_host_memory() -> None:
    message = "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running"
    verdict = found("RuntimeError", message, code="state = torch.load(path)")
    assert "saved from a CUDA device" in verdict.summary
    assert verdict.changes[0].after == ('state = torch.load(path, map_location="cpu")',)


def test_a_backend_that_jax_does_not_have() -> None:
    message = "Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present."
    verdict = found("RuntimeError", message, within="/x/site-packages/jax/_src/xla_bridge.py")
    assert "JAX has no backend 'gpu' here" in verdict.summary


@pytest.mark.parametrize(("message", "within"), [("No CUDA GPUs are available", "/x/other.py"), ("no such layer", TORCH)])
def test_clear_of_another_error(message: str, within: str) -> None:
    assert isinstance(examine("RuntimeError", message, within=within), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(device_missing.examine(unseen()), Unknown)
