"""Label maps as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstall.data.io import label_map
from unstall.data.io.reader import Unparsable

AS_WRITTEN = """
# a comment { with a block
item {
  id: 1
  name: 'cat'   # another
}
item: {
  name: "dog, the \\"second\\"",
  id: 2,
  display_name: 'Dog';
  keypoints { id: 10 label: "nose" }
  keypoints: < id: 11 label: "tail" >
  ancestor_ids: [3, 4]
}
item{id:3 name:"\\346\\227\\245\\xe6\\x9c\\xac"}item < id: 4 display_name: 'only shown' >
"""


def test_both_forms_of_blocks_comments_quotes_and_commas() -> None:
    items = label_map.parse(AS_WRITTEN)
    assert [(item.number, item.shown_name) for item in items] == [
        (1, "cat"),
        (2, 'dog, the "second"'),
        (3, "日本"),
        (4, "only shown"),
    ]
    assert [item.line for item in items] == [3, 7, 15, 15]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("item {\n id: 1\n", 1, "never closed"),
        ("item {\n name: 'x'\n}", 1, "has no id"),
        ("item {\n id: one\n}", 2, "Expected a whole number as id. Received: 'one'"),
        ("item {\n id: 99999999999\n}", 2, "Expected a whole number"),
        ("\n}", 2, "Expected the name of a field. Received: '}'"),
        ("item", 1, "The file ends after 'item'"),
        ("item {\n name: 'never\n", 2, "Expected a field or a block"),
        ("item {\n" * 1000, 17, "More than 16 blocks"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, line: int, said: str) -> None:
    with pytest.raises(Unparsable) as caught:
        label_map.parse(text)
    assert said in str(caught.value)
    assert caught.value.line == line


def test_what_is_no_item_is_passed_over() -> None:
    assert label_map.parse("version: 2 other { id: 5 item { id: 6 } } item { id: 1 name: 'x' }") == [
        label_map.Item(1, "x", "", 1)
    ]


def test_an_empty_file_has_no_items() -> None:
    assert label_map.parse("") == label_map.parse("# nothing\n") == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20)))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "written.pbtxt"
    label_map.write(path, names, range(1, len(names) + 1))
    assert [(item.number, item.name) for item in label_map.read(path)] == list(enumerate(names, start=1))
