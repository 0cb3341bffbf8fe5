"""An option for each setting, of the same name and meaning; what is typed becomes a value of the setting's kind, or is refused."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from unstall.base.errors import InvalidInputError
from unstall.config import settings, toml_file
from unstall.config.options import GroupedCommand, add_setting_options, collect_explicit_settings


def typed(*arguments: str) -> dict[str, Any]:
    """What a command gets that was called with these."""
    got: dict[str, Any] = {}

    @click.command(cls=GroupedCommand)
    @add_setting_options
    def command(**keywords: Any) -> None:
        got.update(collect_explicit_settings(keywords))

    command.main(list(arguments), standalone_mode=False)
    return got


def test_nothing_typed_is_nothing_given() -> None:
    assert typed() == {}


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (("--epochs", "3"), {"epochs": 3}),
        (("--learning-rate", "1e-3"), {"learning_rate": 1e-3}),
        (("--remat",), {"remat": True}),
        (("--no-tensorboard",), {"tensorboard": False}),
        (("--augmentations", "horizontal_flip, mosaic"), {"augmentations": ("horizontal_flip", "mosaic")}),
        (("--augmentations", ""), {"augmentations": ()}),
        (("--lr-milestones", "8,11"), {"lr_milestones": (8, 11)}),
        (("--cache-bytes", "2GiB"), {"cache_bytes": 2 * 2**30}),
        (("--batch-size", "1_024"), {"batch_size": 1024}),
        (("--image-size", "64"), {"detector": {"image_size": [64, 64]}}),
        (("--image-size", "64x96", "--detector", "backbone=vgg"), {"detector": {"backbone": "vgg", "image_size": [64, 96]}}),
        (
            ("--detector", "image_size=64,96", "--detector", "backbone=vgg", "--detector", "aspect_ratios=[[1.0], [2.0]]"),
            {"detector": {"image_size": [64, 96], "backbone": "vgg", "aspect_ratios": [[1.0], [2.0]]}},
        ),
    ],
)
def test_what_is_typed_becomes_a_value(arguments: tuple[str, ...], values: dict[str, Any]) -> None:
    assert typed(*arguments) == values


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--epochs", "many"), "--epochs: expected a whole number from 1 to 1,000,000. Received: 'many'"),
        (("--epochs", "1.5"), "--epochs: expected a whole number"),
        (("--backend", "tf"), "--backend: expected one of auto, tensorflow, jax, torch. Received: 'tf'"),
        (("--detector", "image_size"), "--detector: expected NAME=VALUE"),
        (("--cache-bytes", "lots"), "--cache-bytes: expected a number of bytes"),
        (("--image-size", "8"), "--image-size: expected height and width in whole pixels, 32 to 8192 each"),
        (("--image-size", "big"), "--image-size: expected height and width in whole pixels"),
        (("--image-size", "64", "--detector", "image_size=64,64"), "--image-size: expected once"),
    ],
)
def test_what_is_of_no_such_kind_is_refused(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        typed(*arguments)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("typed_name", "meant"), [("--lr", "--learning-rate"), ("--imgsz", "--image-size"), ("--early-stop", "--patience")]
)
def test_what_other_trainers_call_a_setting_is_told_by_its_name_here(typed_name: str, meant: str) -> None:
    with pytest.raises(click.NoSuchOption) as caught:
        typed(typed_name, "3")
    assert caught.value.format_message() == f"No such option '{typed_name}': use {meant}."


def test_help_has_every_setting_with_its_meaning_under_its_heading() -> None:
    @click.command(cls=GroupedCommand)
    @add_setting_options
    def command(**keywords: Any) -> None:
        raise AssertionError

    said = " ".join(CliRunner().invoke(command, ["--help"], terminal_width=200).output.split())
    for heading, names in toml_file.list_groups().items():
        assert f"Settings: {heading}:" in said
        for name in names:
            assert f"--{name.replace('_', '-')}" in said and toml_file.get_meaning(name).split(";")[0] in said
    assert len(settings.list_names()) > 40
