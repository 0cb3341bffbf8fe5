"""Protobuf's text format as people write it."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from unstall.data.io import prototext
from unstall.data.io.prototext import Block, Field, Scalar
from unstall.data.io.reader import Unparsable
from unstall.tfod.config import FLAGS, as_number


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


def message_class() -> Any:
    """message Tree { repeated Tree tree = 1; repeated string text = 2; repeated float number = 3; repeated bool flag = 4; }"""
    file = descriptor_pb2.FileDescriptorProto(name="tree.proto", package="specified", syntax="proto2")
    tree, kinds = file.message_type.add(name="Tree"), descriptor_pb2.FieldDescriptorProto
    repeated = kinds.LABEL_REPEATED
    tree.field.add(name="tree", number=1, type=kinds.TYPE_MESSAGE, label=repeated, type_name=".specified.Tree")
    for number, (name, kind) in enumerate(
        (("text", kinds.TYPE_STRING), ("number", kinds.TYPE_FLOAT), ("flag", kinds.TYPE_BOOL)), 2
    ):
        tree.field.add(name=name, number=number, type=kind, label=repeated)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("specified.Tree"))


TREE = message_class()
MESSAGES = st.recursive(
    st.builds(
        TREE,
        text=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=2),
        number=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=2),
        flag=st.lists(st.booleans(), max_size=2),
    ),
    lambda inner: st.builds(TREE, tree=st.lists(inner, max_size=2), text=st.just(["'\"\n"])),
    max_leaves=5,
)


@settings(max_examples=50, deadline=None)
@given(MESSAGES, st.booleans(), st.booleans(), st.booleans())
def test_whatever_protobuf_itself_writes_is_read(message: Any, on_one_line: bool, pointed: bool, as_utf8: bool) -> None:
    written = text_format.MessageToString(message, as_one_line=on_one_line, pointy_brackets=pointed, as_utf8=as_utf8)
    assert_same(message, prototext.parse(written))


def assert_same(message: Any, fields: list[Field]) -> None:
    given = {name: [field.value for field in fields if field.name == name] for name in ("tree", "text", "number", "flag")}
    assert [value.text for value in given["text"] if isinstance(value, Scalar)] == list(message.text)
    numbers = [as_number(value.text) for value in given["number"] if isinstance(value, Scalar)]
    assert [struct.pack("f", number or 0.0) for number in numbers] == [
        struct.pack("f", number or 0.0) for number in message.number
    ]
    assert [FLAGS[value.text] for value in given["flag"] if isinstance(value, Scalar)] == list(message.flag)
    for inner, block in zip(message.tree, given["tree"], strict=True):
        assert isinstance(block, Block)
        assert_same(inner, block.fields)
