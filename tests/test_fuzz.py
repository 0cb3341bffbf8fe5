"""The drivers of the fuzzing work: a few hundred inputs each. `make fuzz` gives them a hundred thousand."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

import pytest
from fuzz.hypothesis_engine import inputs_of
from fuzz.run import driver_names
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unstall.data import formats
from unstall.data.io import label_map
from unstall.data.io.images import parse_header
from unstall.detectors.weights.reader import read as read_weights
from unstall.tfod.config import parse_text
from unstall.tfod.conversion import convert_config
from unstall.tfod.inputs import PathOverrides


@pytest.mark.parametrize("name", driver_names())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=st.data())
def test_any_input_gives_a_reading_or_a_clear_error(name: str, drawn: st.DataObject) -> None:
    driver = importlib.import_module(f"fuzz.drivers.{name}")
    with tempfile.TemporaryDirectory() as folder:
        driver.one(drawn.draw(inputs_of(driver)), Path(folder))


@pytest.mark.parametrize("name", formats.FORMATS.names())
def test_the_seeds_begin_with_one_that_is_read_whole(name: str, tmp_path: Path) -> None:
    """Or the fuzzing would never get beyond the first check."""
    driver = importlib.import_module(f"fuzz.drivers.{name}")
    driver.one(driver.SEEDS[0], tmp_path)
    path = tmp_path / "a.json" if name == "coco" else tmp_path
    assert formats.read(path, name).box_count >= 1


def test_the_seeds_of_the_other_parsers_are_read() -> None:
    for seed in importlib.import_module("fuzz.drivers.labelmap").SEEDS:
        assert label_map.parse(seed.decode())
    for seed in importlib.import_module("fuzz.drivers.tfod").SEEDS:
        assert convert_config(parse_text(seed.decode(), "pipeline.config"), PathOverrides()).count()["unknown"] == 0
    for seed in importlib.import_module("fuzz.drivers.headers").SEEDS:
        read = parse_header(seed)
        assert (read.width, read.height) == (64, 48), read


def test_the_seeds_of_weights_are_read_or_refused_as_they_should(tmp_path: Path) -> None:
    checkpoint, safetensors = (importlib.import_module(f"fuzz.drivers.{name}") for name in ("checkpoint", "safetensors"))
    for driver, file, counts in (
        (checkpoint, "a.pth", {0: 2, 1: 1}),
        (checkpoint, "b.pth", {2: 1, 4: 1}),  # a pickle of arrays by itself, and a checkpoint of before 2020
        (safetensors, "a.safetensors", {0: 2, 1: 1}),
    ):
        for seed, count in counts.items():
            driver.one(driver.SEEDS[seed], tmp_path)
            assert len(read_weights(tmp_path / file).tensors) == count
