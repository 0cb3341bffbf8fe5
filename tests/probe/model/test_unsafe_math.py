"""Lines that can make a number which is not finite, read from the source."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from unstall.probe.model import unsafe_math

SOURCE = """
import numpy as np

EPSILON = 1e-7
SCALE = 255.0


def open_log(target, predicted):
    hit = target * np.log(predicted)
    return -hit


def floored(target, predicted):
    safe = np.log(np.maximum(predicted, 1e-7)) + np.sqrt(predicted + 1e-6) + target / (predicted + EPSILON)
    return safe / SCALE / 2.0


def division(target, mask):
    return np.sum(target) / np.sum(mask)


def division_by_a_constant(target, replicas):
    replicas = np.constant(replicas)
    count = 4
    return np.divide(target, replicas) / count


def division_by_what_is_set_anew(target, mask):
    count = 4
    count = np.sum(mask)
    return np.divide(target, count)


def through_a_helper(target, predicted):
    scaled = target * 2
    return open_log(scaled, predicted) / 3.0


def root(boxes):
    ratio = boxes[0] / boxes[1]
    return np.sqrt(boxes[2] - boxes[0]) + ratio


def train(data):
    for batch in data:
        loss = np.mean(np.log(batch))
    return loss
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    path = tmp_path / "user_losses.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("user_losses", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def found(module: ModuleType, name: str) -> list[tuple[int, str]]:
    return [
        (int(place["where"].rsplit(":", 1)[1]), place["what"]) for place in unsafe_math.find_in_function(getattr(module, name))
    ]


def test_a_logarithm_without_a_floor(module: ModuleType) -> None:
    assert found(module, "open_log") == [(line_of("hit = target"), "a logarithm")]


def test_floors_and_constants_are_seen(module: ModuleType) -> None:
    assert found(module, "floored") == []


def test_a_division_by_a_sum(module: ModuleType) -> None:
    assert found(module, "division") == [(line_of("np.sum(mask)"), "a division")]


def test_what_is_constant_in_the_function_needs_no_floor(module: ModuleType) -> None:
    assert unsafe_math.find_in_function(module.division_by_a_constant) == []
    assert [place["what"] for place in unsafe_math.find_in_function(module.division_by_what_is_set_anew)] == ["a division"]


def test_functions_that_it_calls_are_read_too(module: ModuleType) -> None:
    assert found(module, "through_a_helper") == [(line_of("hit = target"), "a logarithm")]


def test_the_likeliest_stands_first(module: ModuleType) -> None:
    assert [what for _, what in found(module, "root")] == ["a square root", "a division"]


def test_around_a_line_of_ones_own_loop(module: ModuleType) -> None:
    assert module.__file__ is not None
    places = unsafe_math.find_around(f"{module.__file__}:{line_of('loss = np.mean')}")
    assert [place["what"] for place in places] == ["a logarithm"]


def test_nothing_is_read_of_installed_code() -> None:
    assert unsafe_math.find_in_function(pytest.approx) == []
    assert unsafe_math.find_around(None) == []
