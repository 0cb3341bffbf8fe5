"""A settings file: the same names as options, each mistake with its line, and a written one reads back as what was written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstall.base.errors import InvalidInputError
from unstall.config import settings, toml_file


def file_of(folder: Path, text: str) -> Path:
    path = folder / "unstall.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_names_and_values_come_with_the_lines_that_they_stand_in(tmp_path: Path) -> None:
    path = file_of(
        tmp_path,
        '# mine\nepochs = 3\n\naugmentations = ["horizontal_flip", "mosaic"]\ncache_bytes = "2GiB"\n[detector]\nimage_size = [64, 96]\n',
    )
    values, places = toml_file.read(path)
    assert values == {
        "epochs": 3,
        "augmentations": ("horizontal_flip", "mosaic"),
        "cache_bytes": 2 * 2**30,
        "detector": {"image_size": [64, 96]},
    }
    lines = {"epochs": 2, "augmentations": 4, "cache_bytes": 5, "detector": 6, "detector.image_size": 7}
    assert places == {name: f"{path}:{line}" for name, line in lines.items()}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[detector]\n\nstem_channels = 3\n", 3),
        ("epochs = 1\ndetector = {stem_channels = 3}\n", 2),
        ("detector.image_size = [64, 64]\ndetector.stem_channels = 3\n", 2),
        ('epochs = 1\n["detector"]\n"stem_channels" = 3', 3),
    ],
)
def test_a_name_in_a_table_has_the_line_that_it_stands_in(text: str, line: int, tmp_path: Path) -> None:
    path = file_of(tmp_path, text)
    assert toml_file.read(path)[1]["detector.stem_channels"] == f"{path}:{line}"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("epochs = 3\nepoch = 4\n", 2, "There is no setting 'epoch'. Did you mean 'epochs'?"),
        ("\n\nlearning_rate = 'fast'\n", 3, "learning_rate: expected a number from 0 to 100. Received: 'fast'"),
        ("epochs = 1\nrate = twelve\n", 2, "this is not TOML"),
        ("epochs = 1\nepochs = 2\n", 2, "Received: epochs = 2"),
        ("learning_rate = 1\nmodel = 'ssd\n", 2, "Received: model = 'ssd"),
        ("cache_bytes = '2 potatoes'\n", 1, "cache_bytes: expected a number of bytes, as in 2GiB"),
        ("[detectors]\nimage_size = 3\n", 1, "Did you mean 'detector'?"),
        ("data = [\n'a',\n", 2, "this is not TOML"),
    ],
)
def test_a_mistake_is_named_by_file_and_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, text)
    with pytest.raises(InvalidInputError) as refused:
        toml_file.read(path)
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert words in str(refused.value)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "absent.toml", "No such file"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            toml_file.read(path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        toml_file.read(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("written", "count"), [("12", 12), ("2GiB", 2 * 2**30), ("1.5 MiB", 3 * 2**19), ("3kb", 3000), ("7 B", 7), (5, 5)]
)
def test_bytes_may_be_written_with_their_unit(written: object, count: int) -> None:
    assert toml_file.parse_bytes("cache_bytes", written) == count
    assert toml_file.parse_bytes("model", written) == written


def test_every_setting_is_in_a_written_file_with_its_meaning_and_its_range() -> None:
    text = toml_file.format_setting({}, {}, "")
    for name in settings.list_names():
        assert (toml_file.get_meaning(name) in text and f"# {name} =" in text) or f"# [{name}]" in text
    assert "(1 to 65,536)" in text and "(sgd, adamw)" in text


def test_groups_hold_every_setting_once() -> None:
    assert [name for names in toml_file.list_groups().values() for name in names] == list(settings.list_names())


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)


@hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])  # a busy machine is no fault
@given(
    chosen=st.fixed_dictionaries(
        {},
        optional={
            "data": words,
            "epochs": st.integers(1, 1000),
            "learning_rate": st.floats(0, 100),
            "remat": st.booleans(),
            "augmentations": st.lists(words, max_size=3),
            "exclude_examples": st.lists(st.integers(0, 2**40), max_size=3),
            "detector": st.dictionaries(
                st.sampled_from(["image_size", "stem_channels"]), st.integers(0, 100) | st.lists(st.floats(0, 9)), min_size=1
            ),
        },
    )
)
def test_what_is_written_is_what_is_read(chosen: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = file_of(tmp_path_factory.mktemp("files"), toml_file.format_setting(chosen, {"epochs": "for a reason"}, "Settings"))
    values, _ = toml_file.read(path)
    assert values == {name: settings.check_value(name, value) for name, value in chosen.items()}


def test_reasons_of_strangers_stay_comments() -> None:
    text = toml_file.format_setting({"epochs": 3}, {"epochs": "a\nseed = 9\x00\x7f \u2028b"}, "head\x00", None)
    assert tomllib.loads(text) == {"epochs": 3}
