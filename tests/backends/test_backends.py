"""The backend is chosen before Keras is imported, and what cannot be had is said."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from unstall import backends
from unstall.base.errors import InvalidInputError, MissingDependencyError

PROGRAM = """
import os, sys
from unstall import backends
from unstall.backends.startup import start
from unstall.base.errors import InvalidInputError

class Speaks:
    def find_spec(self, name, path=None, target=None):
        if name == "keras.src":
            sys.meta_path.remove(self)
            os.write(2, b"I0000 00:00:1 9 port.cc:153] a remark\\nsomething to know\\n")

print(backends.choose({name!r}), "keras" in sys.modules)
sys.meta_path.insert(0, Speaks())
print(start({name!r}), "keras" in sys.modules)
os.write(2, b"afterwards\\n")
import keras
print(keras.backend.backend(), backends.choose(), backends.choose({name!r}))
try:
    backends.choose({other!r})
except InvalidInputError as error:
    print(error)
"""
OPTIONAL = """
import sys
from unstall.backends.startup import start
start({name!r})
print(*sorted({{"jax", "matplotlib", "pandas"}} & set(sys.modules)))
import matplotlib
print(matplotlib.__name__)
"""


@pytest.mark.parametrize(
    ("name", "other"),
    [
        pytest.param("tensorflow", "jax", marks=pytest.mark.tensorflow),
        pytest.param("jax", "torch", marks=pytest.mark.jax),
        pytest.param("torch", "tensorflow", marks=pytest.mark.torch),
    ],
)
def test_keras_starts_without_remarks_on_the_backend_that_was_chosen_and_on_no_other_later(name: str, other: str) -> None:
    program = [sys.executable, "-c", PROGRAM.format(name=name, other=other)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=240)
    refused = f"Keras runs on {name} already in this process; {other} needs a process of its own."
    assert done.stdout.splitlines() == [f"{name} False", f"{name} True", f"{name} {name} {name}", refused]
    assert done.stderr == "something to know\nafterwards\n", "all else that is said is said"


@pytest.mark.all_packages
@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        pytest.param("tensorflow", "", marks=pytest.mark.tensorflow),
        pytest.param("jax", "jax", marks=pytest.mark.jax),
        pytest.param("torch", "", marks=pytest.mark.torch),
    ],
)
def test_what_keras_imports_only_because_it_is_there_is_left_out_and_can_be_imported_later(name: str, loaded: str) -> None:
    program = [sys.executable, "-c", OPTIONAL.format(name=name)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.splitlines() == [loaded, "matplotlib"]


def test_a_backend_that_there_is_not() -> None:
    with pytest.raises(InvalidInputError, match=r"There is no backend 'mxnet'. Expected one of: tensorflow, jax, torch"):
        backends.choose("mxnet")


def test_the_environment_decides_where_nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    monkeypatch.setenv("KERAS_BACKEND", "openvino")
    with pytest.raises(InvalidInputError, match="KERAS_BACKEND: expected one of"):
        backends.choose()


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    monkeypatch.setenv("KERAS_BACKEND", "")
    monkeypatch.setattr(sys, "meta_path", [])  # nothing can be found
    with pytest.raises(MissingDependencyError, match="pip install 'unstall\\[jax\\]'"):
        backends.choose("jax")
    with pytest.raises(MissingDependencyError, match="none is installed"):
        backends.choose()


@pytest.mark.parametrize(("takes_card", "ahead"), [(True, None), (False, "false")])
def test_a_training_takes_the_card_and_a_look_shares_it(
    takes_card: bool, ahead: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    for name in ("KERAS_BACKEND", "TF_CPP_MIN_LOG_LEVEL", "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE"):
        monkeypatch.setenv(name, "")  # so that what is set here is taken back afterwards
    monkeypatch.setattr(backends, "is_installed", lambda package: True)
    backends.choose("jax", takes_card)
    assert (os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] or None) == ahead
