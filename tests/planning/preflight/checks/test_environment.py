"""Variables that change what a training does, and others that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.planning.preflight.contexts import context
from unstall.planning.preflight.check import CheckError, CheckOk, CheckWarning
from unstall.planning.preflight.checks import environment as check
from unstall.planning.preflight.checks.environment import judge


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"HOME": "/root", "KERAS_BACKEND": "jax"},
        {"CUDA_VISIBLE_DEVICES": "0,1"},
        {"JAX_DEBUG_NANS": "0"},
        {"OMP_NUM_THREADS": "4"},
        {"XLA_FLAGS": "--xla_gpu_deterministic_ops=true"},
    ],
)
def test_what_does_no_harm_fits(environment: dict[str, str]) -> None:
    assert isinstance(judge(environment, cores=4), CheckOk)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, "every card is hidden"),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "every card is hidden"),
        ({"JAX_DISABLE_JIT": "1"}, "every operation by itself"),
        ({"CUDA_LAUNCH_BLOCKING": "1"}, "waits for every kernel"),
        ({"TF_XLA_FLAGS": "--a=1 --tf_xla_auto_jit=-1"}, "switches the compiler off"),
        ({"OMP_NUM_THREADS": "64"}, "OMP_NUM_THREADS=64 with 4 cores"),
        ({"OMP_NUM_THREADS": "1"}, "OMP_NUM_THREADS=1 with 4 cores"),
        ({"LD_LIBRARY_PATH": "/usr/lib:/not/there"}, "'/not/there', which is not there"),
    ],
)
def test_what_harms_warns(environment: dict[str, str], words: str) -> None:
    found = judge(environment, cores=4)
    assert isinstance(found, CheckWarning) and words in found.reason


def test_all_that_harms_is_named_at_once(tmp_path: Path) -> None:
    found = judge({"JAX_ENABLE_X64": "1", "CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": str(tmp_path)}, cores=4)
    assert isinstance(found, CheckWarning)
    assert found.fix == "unset CUDA_VISIBLE_DEVICES; unset JAX_ENABLE_X64"


@pytest.mark.parametrize(
    ("platforms", "backend", "is_refused"), [("cuda", "jax", True), ("cuda,cpu", "jax", False), ("cuda", "torch", False)]
)
def test_a_device_for_jax_that_is_not_there_refuses(
    platforms: str, backend: str, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = check.look(context(tmp_path, backend=backend))
    assert isinstance(found, CheckError) == is_refused
    assert not is_refused or found.fix == "unset JAX_PLATFORMS"
