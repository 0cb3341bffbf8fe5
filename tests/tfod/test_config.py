"""Values of a pipeline.config, and how a wrong one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tfod.configs import parsed
from unstall.base.errors import InvalidInputError
from unstall.tfod import config


@pytest.mark.parametrize(
    ("written", "number"),
    [("1", 1), (".5", 0.5), ("1e-4", 1e-4), ("0.9f", 0.9), ("-3.F", -3), ("0x1F", 31), ("017", 15), ("+2", 2), ("1.", 1)],
)
def test_numbers_as_protobuf_writes_them(written: str, number: float) -> None:
    assert parsed(f"a: {written}").number("a", 0) == number


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("0.07999999821186066", 0.08),
        ("0.89999998", 0.9),
        ("1.9999999e-05", 2e-05),
        ("0.6000000238418579", 0.6),
        ("-4.599999904632568", -4.6),
        ("0.3333333", 0.3333333),
        ("100000001", 100000001),
        ("1e300", 1e300),
        ("1.23456789e300", 1.23456789e300),
    ],
)
def test_numbers_of_32_bits_are_what_they_were_before_they_were_written(written: str, number: float) -> None:
    assert parsed(f"a: {written}").number("a", 0) == number


def test_blocks_of_one_name_are_one_and_the_last_value_holds() -> None:
    node = parsed("a { b: 1 c: 2 } a { b: 3 }").node("a")
    assert (node.whole("b", 0), node.whole("c", 0), node.whole("d", 7)) == (3, 2, 7)
    assert [each.whole("b", 0) for each in parsed("a { b: 1 c: 2 } a { b: 3 }").nodes("a")] == [1, 3]


@pytest.mark.parametrize("written", ["true", "True", "t", "1"])
def test_flags(written: str) -> None:
    assert parsed(f"a: {written}").flag("a") is True


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("train {\n batch: many\n}", "pipeline.config:2: train.batch: expected a whole number from 1 to 64. Received: 'many'"),
        ("train { batch: '4' }", "pipeline.config:1: train.batch: expected a whole number from 1 to 64. Received: '4'"),
        ("train { batch: 2.5 }", "train.batch: expected a whole number from 1 to 64. Received: '2.5'"),
        ("train { batch: 65 }", "Received: '65'"),
        ("train { batch: inf }", "Received: 'inf'"),
        ("train { batch { } }", "train.batch: expected one value. Received: 'a block'"),
        ("train: 3", "pipeline.config:1: train: expected a block in braces. Received: '3'"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(written: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parsed(written).node("train").whole("batch", 1, 1, 64)
    assert said in str(caught.value)


def test_files_that_are_no_config(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        config.read(tmp_path / "none.config")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        config.read(tmp_path)
    large = tmp_path / "large.config"
    large.write_bytes(b"a: 1\n" * 300_000)
    with pytest.raises(InvalidInputError, match=r"Larger than 1,048,576 bytes.*Expected a pipeline.config"):
        config.read(large)
    many = tmp_path / "many.config"
    many.write_bytes(b"a: 1\n" * 20_000)
    with pytest.raises(InvalidInputError, match="20,000 fields"):
        config.read(many)
    broken = tmp_path / "broken.config"
    broken.write_text("model {\n ssd {\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"broken.config:2: The block 'ssd' is never closed"):
        config.read(broken)
