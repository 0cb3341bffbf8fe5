"""Protobuf's text format as people write it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstall.data import prototext
from unstall.data.prototext import Block, Field, Scalar
from unstall.data.reading import Unparsable


def plain(fields: list[Field]) -> list[tuple[str, Any]]:
    return [(field.name, plain(field.value.fields) if isinstance(field.value, Block) else field.value.text) for field in fields]


@pytest.mark.parametrize("written", ["a { b: 1 }", "a: { b: 1 }", "a: < b: 1 >", "a<b:1>", "a { b: 1, };", "a:{\r\n b: 1;\r\n},"])
def test_blocks_in_all_their_forms(written: str) -> None:
    assert plain(prototext.parse(written)) == [("a", [("b", "1")])]


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("a: 1 a: 2", ["1", "2"]),
        ("a: [1.0, .5, 1e-4]", ["1.0", ".5", "1e-4"]),
        ("a: [1.0 .5]", ["1.0", ".5"]),
        ("a: []", []),
        ("a: ['x', 'y' 'z',  # last\n 'w']", ["x", "yz", "w"]),
        ("a: - 1 a: -0x1F", ["-1", "-0x1F"]),
        ("a: 0.9f a: RELU_6, a: inf", ["0.9f", "RELU_6", "inf"]),
        ("a: 'x' \"y\"\n  'z' a: 'it\\'s' a: \"#{[:\"", ["xyz", "it's", "#{[:"]),
        (r"a: '\346\227\245\xe6\x9c\xac\n\"'", ['日本\n"']),
        ("a: 1 # a: 2\n# a: 3\na: 4", ["1", "4"]),
    ],
)
def test_values_lists_texts_and_comments(written: str, values: list[str]) -> None:
    assert plain(prototext.parse(written)) == [("a", value) for value in values]


def test_lists_of_blocks_and_names_of_extensions() -> None:
    assert plain(prototext.parse("a: [{ b: 1 }, < b: 2 >] [some.package.name]: 3 [other] { c: 4 }")) == [
        ("a", [("b", "1")]),
        ("a", [("b", "2")]),
        ("[some.package.name]", "3"),
        ("[other]", [("c", "4")]),
    ]


def test_every_field_and_value_knows_its_line() -> None:
    outer, last = prototext.parse("# first\nouter {\n\n  inner:\n    'x'\n}\nlast: [\n 1,\n 2]")[:2]
    assert isinstance(outer.value, Block) and isinstance(outer.value.fields[0].value, Scalar)
    assert (outer.line, outer.value.fields[0].line, outer.value.fields[0].value.line, last.line) == (2, 4, 5, 8)


@pytest.mark.parametrize(
    ("written", "line", "said"),
    [
        ("a {\n b: 1\n", 1, "The block 'a' is never closed. Expected '}'."),
        ("a {\n b: 1 >", 2, "Expected the name of a field. Received: '>'."),
        ("a: [1,\n 2", 1, "The list 'a' is never closed. Expected ']'."),
        ("a: [[1]]", 1, "Expected a value for 'a'. Received: '['."),
        ("a\n1", 2, "Expected ':' or '{' after 'a'. Received: '1'."),
        ("a:\n\n}", 3, "Expected a value for 'a'. Received: '}'."),
        ("\na", 2, "The file ends after 'a'. Expected its value."),
        ("a: 'never\n", 1, "Expected a field or a block"),
        (": 1", 1, "Expected the name of a field. Received: ':'."),
        ("a {" * 17, 1, "More than 16 blocks within each other."),
    ],
)
def test_mistakes_are_named_with_their_line(written: str, line: int, said: str) -> None:
    with pytest.raises(Unparsable) as caught:
        prototext.parse(written)
    assert said in str(caught.value)
    assert caught.value.line == line


NAMES = st.sampled_from(["a", "b_c", "d1"])
VALUES = st.sampled_from(["1", "-2", ".5", "1e-4", "RELU_6"])
TREES = st.recursive(VALUES, lambda inner: st.lists(st.tuples(NAMES, inner), max_size=3), max_leaves=8)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(NAMES, TREES), max_size=5), st.sampled_from([" {", ": {", " <", ":<"]), st.sampled_from([" ", ", ", ";\n"])
)
def test_whatever_is_written_is_read_again(tree: list[tuple[str, Any]], opened: str, between: str) -> None:
    def written(fields: list[tuple[str, Any]]) -> str:
        closed = "}" if "{" in opened else ">"
        return between.join(
            f"{name}: {value}" if isinstance(value, str) else f"{name}{opened}{written(value)}{closed}" for name, value in fields
        )

    assert plain(prototext.parse(written(tree))) == tree
