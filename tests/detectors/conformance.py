"""One check for every detector: what each must do on each backend, and that the backends agree. A detector's test is

    from tests.detectors.conformance import BACKENDS, CHECKS, Subject

    SUBJECT = Subject("retinanet_tiny", {"image_size": [96, 128]})

    @BACKENDS
    @CHECKS
    def test_it_conforms(check, backend, request):
        check(SUBJECT.measured(backend, request.config.cache))

Each backend measures once, all detectors in a process of its own (`measuring.py`); what it measured is kept in pytest's cache for as
long as the code stays the same, so that the runs of the three backends do not repeat each other's work.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache as kept
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.programs import UNUSED_PACKAGES, hide_packages

ROOT = Path(__file__).parents[2]
SOURCES = ("src/unstall/detectors", "src/unstall/training", "src/unstall/backends", "tests/detectors")
REFERENCE = {"jax": "torch", "tensorflow": "jax", "torch": "jax"}  # whom each is compared with
MAX_S = 1800
TIMEOUT = pytest.mark.timeout(2 * MAX_S)  # that of its own and of the backend that it is compared with
QUICK_TO_COMPILE = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"  # it runs but a few steps
CLOSE = 1e-4  # of the largest value of a tensor, in float32
CLOSE_BFLOAT16 = 0.1  # of a loss: eight bits of precision, through a whole network
FLOOR = 1e-4  # of the largest gradient of all: what is smaller is compared with this, as it is the rest of a cancellation
FAILED: dict[Path, str] = {}  # what could not be measured in this run: it is not tried again for every check
SUBJECTS: list[Subject] = []  # of the tests that were collected


def environment(backend: str) -> dict[str, str]:
    """Of a process that runs a detector on one backend. One thread: several that wait for each other on a busy machine burn more
    time than they save."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), hide_packages(*UNUSED_PACKAGES[backend])])
    own = {"KERAS_BACKEND": backend, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
    quick = {"XLA_FLAGS": QUICK_TO_COMPILE, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return {**os.environ, **own, **quick}


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("backend", [pytest.param(name, marks=(getattr(pytest.mark, name), TIMEOUT)) for name in names])


BACKENDS = on(*REFERENCE)
# Specifications: PyTorch compiles nothing, and so runs them in a third of the time; that the others give the same is what conformance
# is for. `make test-every` runs them on each.
SPECIFIED_ON = tuple(REFERENCE) if os.environ.get("UNSTALL_EVERY_BACKEND") == "1" else ("torch",)
SPECIFIED = on(*SPECIFIED_ON)


@dataclass(frozen=True)
class Measured:
    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]
    other: Measured | None = field(default=None, repr=False)  # of the backend that it is compared with


@dataclass(frozen=True, eq=False)
class Subject:
    variant: str
    changes: dict[str, Any] = field(default_factory=dict)  # of its settings, as JSON has them: small images above all

    def __post_init__(self) -> None:
        SUBJECTS.append(self)

    def measured(self, backend: str, cache: pytest.Cache) -> Measured:
        own, other = (self._of(each, cache) for each in (backend, REFERENCE[backend]))
        return Measured(own.facts, own.arrays, other)

    def _of(self, backend: str, cache: pytest.Cache) -> Measured:
        path = self._path(backend, cache)
        with one_at_a_time(path.with_name(f"{backend}.lock")):
            if path not in FAILED and not path.exists():
                every = {each: each._path(backend, cache) for each in (self, *SUBJECTS)}
                said = measure(backend, {each: own for each, own in every.items() if not own.exists()})
                if not path.exists():
                    FAILED[path] = said
        if path in FAILED:
            pytest.fail(f"{backend} could not measure {self.variant}: {FAILED[path]}")
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files if name != "facts"}
            return Measured(json.loads(str(file["facts"])), arrays)

    def _path(self, backend: str, cache: pytest.Cache) -> Path:
        """Named by all that the outcome hangs on."""
        return cache.mkdir("detectors") / f"{self.variant}-{backend}-{self._print(backend)}.npz"

    def _print(self, backend: str) -> str:
        hashed = hashlib.sha256(json.dumps([self.variant, self.changes, _print_of_sources()]).encode())
        for package in ("keras", {"tensorflow": "tensorflow-cpu"}.get(backend, backend)):
            hashed.update(_version(package).encode())
        return hashed.hexdigest()[:16]


@kept
def _print_of_sources() -> str:
    hashed = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.name.startswith("test_"):
                hashed.update(path.read_bytes())
    return hashed.hexdigest()


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """The runs of two backends may be on their way beside each other: the second takes what the first has measured."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def measure(backend: str, subjects: dict[Subject, Path]) -> str:
    """What the process said last: it ends at the first detector that cannot be measured."""
    asides = {path: path.with_suffix(f".{os.getpid()}.npz") for path in subjects.values()}
    wanted = [[each.variant, each.changes, str(asides[path])] for each, path in subjects.items()]
    command = [sys.executable, "-m", "tests.detectors.measurement", json.dumps(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MAX_S, env=environment(backend), cwd=ROOT)
    for path, aside in asides.items():
        if aside.exists():
            aside.replace(path)
    return done.stderr[-4000:]


def _version(package: str) -> str:
    try:
        return version(package)
    except ModuleNotFoundError:
        return version(package.partition("-")[0])


def distance(these: np.ndarray, those: np.ndarray, least: float) -> float:
    """The largest difference, as a share of the largest value, or of `least` where all are smaller."""
    if those.size == 0:
        return 0.0
    scale = max(float(np.abs(those).max()), least)
    return float(np.abs(these.astype(np.float64) - those).max()) / scale


# --- the checks ---


def shapes_and_types(of: Measured) -> None:
    facts = of.facts
    assert facts["forward"]["finite"]
    for loss, kind in facts["whole"]["dtypes"].items():
        assert kind == "float32", f"the loss '{loss}' is {kind}"
    assert sorted(facts["whole"]["losses"]) == sorted(facts["loss_names"]), (
        "loss_names of the class must name what training_losses gives"
    )
    found = facts["detections"]
    boxes, scores, classes = found["shapes"]
    assert boxes == [2, scores[1], 4] and scores == classes
    assert found["dtypes"] == ["float32", "float32", "int32"]
    assert found["sorted"] and found["inside"] and found["unused_agree"], found
    assert found["class_range"][0] >= -1 and found["class_range"][1] < facts["classes"]
    assert found["found"] > 0, "with these weights something must be found, or nothing is tested"


def an_image_without_a_box_is_an_example(of: Measured) -> None:
    whole = of.facts["whole"]  # its second image has none
    assert all(np.isfinite(loss) and loss > 0 for loss in whole["losses"].values()), whole["losses"]
    assert whole["finite"]
    assert np.isfinite(of.facts["fitted"]["losses"]).all()  # there one batch has no box at all


def every_variable_learns(of: Measured) -> None:
    assert of.facts["whole"]["without_gradient"] == []


def the_loss_falls(of: Measured) -> None:
    fitted = of.facts["fitted"]
    losses = fitted["losses"][: fitted["steps"]]
    assert losses[-1] < 0.8 * losses[0], losses


def a_step_gives_every_loss(of: Measured) -> None:
    assert of.facts["fitted"]["names"] == sorted(of.facts["loss_names"])
    assert np.allclose(of.facts["fitted"]["parts"], of.facts["fitted"]["losses"], rtol=1e-4)


def other_numbers_of_boxes_compile_nothing(of: Measured) -> None:
    if of.facts["backend"] != "torch":  # which compiles nothing
        assert of.facts["fitted"]["traces"] == of.facts["fitted"]["traces_at_first"]


def weights_survive_saving(of: Measured) -> None:
    assert of.facts["saved"] == {"same_names": True, "equal": True, "variables": of.facts["saved"]["variables"]}
    assert of.facts["saved"]["variables"] >= len(of.facts["whole"]["learned"])


def bfloat16_gives_nearly_the_same_losses(of: Measured) -> None:
    narrow, wide = of.facts["bfloat16"], of.facts["whole"]
    assert narrow["finite"] and set(narrow["dtypes"].values()) == {"float32"}
    for name, loss in wide["losses"].items():
        assert abs(narrow["losses"][name] - loss) < CLOSE_BFLOAT16 * loss, (name, narrow["losses"], wide["losses"])


def computing_again_changes_nothing(of: Measured) -> None:
    assert of.facts["remat"]["furthest"] < CLOSE
    assert of.facts["remat"]["furthest_state"] < CLOSE


def frozen_stages_stay(of: Measured) -> None:
    frozen = of.facts["frozen"]
    assert frozen["changed_though_frozen"] == []
    assert set(frozen["learned"]) < set(of.facts["whole"]["learned"])
    backbone = [name for name in of.facts["whole"]["learned"] if name.startswith("backbone.") and ".fpn." not in name]
    still = [name for name in backbone if name in frozen["learned"]]
    assert still and len(still) < len(backbone), (
        "trainable_backbone_layers=1 leaves the backbone's last stage to learn, and no other"
    )


def backends_agree(of: Measured) -> None:
    other = of.other
    assert other is not None and other.facts["backend"] != of.facts["backend"]
    assert list(of.arrays) == list(other.arrays)
    for name, loss in other.facts["whole"]["losses"].items():
        assert abs(of.facts["whole"]["losses"][name] - loss) <= CLOSE * abs(loss), (name, of.facts["whole"], other.facts["whole"])
    largest = max(float(np.abs(value).max()) for name, value in other.arrays.items() if name.startswith("gradient"))
    distances: dict[str, list[float]] = {}
    for name, value in other.arrays.items():
        is_gradient = name.startswith("gradient")
        # A value that is 0 but for rounding passes a ReLU on one backend and not on the other, and the gradient of that one place
        # is then there or not. This happens to some batches; a difference of the backends would show in all.
        key = name.rpartition(" ")[0] if is_gradient else name
        distances.setdefault(key, []).append(distance(of.arrays[name], value, FLOOR * largest if is_gradient else 1e-6))
    wrong = {name: shares for name, shares in distances.items() if min(shares) > CLOSE}
    assert not wrong, wrong


EVERY_CHECK: tuple[Callable[[Measured], None], ...] = (
    shapes_and_types,
    an_image_without_a_box_is_an_example,
    every_variable_learns,
    the_loss_falls,
    a_step_gives_every_loss,
    other_numbers_of_boxes_compile_nothing,
    weights_survive_saving,
    bfloat16_gives_nearly_the_same_losses,
    computing_again_changes_nothing,
    frozen_stages_stay,
    backends_agree,
)
CHECKS = pytest.mark.parametrize("check", EVERY_CHECK, ids=lambda check: check.__name__)
