"""What all readers share: names of their own, splits, text of any encoding, bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.dataset_files import put
from unstall.base.errors import InvalidInputError
from unstall.data.io import label_map
from unstall.data.io.reader import FindingCollector, Names, Unparsable, as_text, quote, read_bytes, split_name


def test_names_are_told_apart_by_split_then_by_number() -> None:
    names = Names()
    given = [names.unique("a.jpg", split) for split in ("train", "val", "val", "", "")]
    assert given == ["a.jpg", "val/a.jpg", "a#2.jpg", "a#3.jpg", "a#4.jpg"]


@given(st.lists(st.tuples(st.sampled_from(["a", "a.b", "a#2.b", "x/a.b", ""]), st.sampled_from(["", "x"]))))
def test_no_name_is_given_twice(wanted: list[tuple[str, str]]) -> None:
    names = Names()
    given = [names.unique(name, split) for name, split in wanted]
    assert len(set(given)) == len(given)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("train2017", "train"),
        ("valid", "val"),
        ("Validation", "val"),
        ("test-2", "test"),
        ("minival", "minival"),
        ("training", "train"),
        ("", ""),
        ("x1", "x1"),
    ],
)
def test_the_names_of_splits(text: str, wanted: str) -> None:
    assert split_name(text) == wanted


def test_text_of_any_encoding() -> None:
    assert [as_text("ä猫".encode(encoding)) for encoding in ("utf-8", "utf-8-sig", "utf-16")] == ["ä猫"] * 3
    assert as_text(b"\xe4") == "ä"


def test_a_file_beyond_its_bound_is_refused_and_a_folder_is_no_file(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "12345"})
    assert read_bytes(tmp_path / "a.txt", 5) == b"12345"
    with pytest.raises(Unparsable, match="Larger than 4 bytes"):
        read_bytes(tmp_path / "a.txt", 4)
    with pytest.raises(OSError, match="no such plain file"):
        read_bytes(tmp_path)


@given(st.text(max_size=200) | st.integers() | st.binary(max_size=200))
def test_what_is_quoted_is_short_and_printable(value: object) -> None:
    shown = quote(value)
    assert len(shown) <= 700 and shown.isprintable()
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "cat\ndog\n"),
        ("a.names", "\ufeffcat\r\ndog"),
        ("a.pbtxt", "item{id:1 name:'cat'} item{id:2 name:'dog'}"),
        ("a.yaml", "names: {1: dog, 0: cat}"),
    ],
)
def test_lists_of_classes_of_each_kind(tmp_path: Path, name: str, content: str) -> None:
    put(tmp_path, {name: content})
    assert label_map.read_given_list(tmp_path / name, FindingCollector(), 1) == (["cat", "dog"], [1, 2])


def test_a_list_that_was_named_and_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        label_map.read_given_list(tmp_path / "gone.txt", FindingCollector(), 0)
