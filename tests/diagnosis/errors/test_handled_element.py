"""handled_element: what is told of the element at hand and of a key that is not there, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.failed_programs import failed, line
from unstall.diagnosis.errors.failures import Failure, find_failure
from unstall.diagnosis.errors.handled_element import describe_element, describe_missing_key


def failure(*lines: dict[str, Any], kind: str = "ValueError", message: str = "no", **seen: Any) -> Failure:
    found = find_failure(failed(kind, message, *lines, **seen))
    assert found is not None
    return found


def loop(name: str, kind: str, text: str) -> dict[str, Any]:
    return {"line": 2, "source": "for …", "values": [{"name": name, "type": kind, "text": text}], "over": []}


def test_the_element_of_a_data_set() -> None:
    example = {"what": "example", "name": "Rows.__getitem__", "index": 41, "length": 1640}
    made = {"name": "self.paths[41]", "type": "str", "text": "'a.json'"}
    assert describe_element(failure(makers=[example])) == "element 41 of 1,640"
    assert describe_element(failure(makers=[{**example, "from": made}])) == "element 41 of 1,640 (`self.paths[41]` = 'a.json')"


@pytest.mark.parametrize(
    ("kind", "text", "code", "said"),
    [
        ("str", "'a.jpg'", "step(x)", "`at` = 'a.jpg'"),
        ("int", "3", "read(paths[at])", "`at` = 3"),
        ("int", "3", "step(x)", ""),  # of an epoch or a step
        ("int", "3", "step(data)", ""),
    ],
)
def test_the_variable_of_a_loop_where_it_is_an_element(kind: str, text: str, code: str, said: str) -> None:
    assert describe_element(failure(line(3, code, loops=[loop("at", kind, text)]))) == said


def keyed(message: str, keys: list[Any], length: int | None = None, kind: str = "KeyError") -> tuple[str, str]:
    value = {
        "name": "LABELS",
        "type": "dict",
        "length": len(keys) if length is None else length,
        "keys": keys,
        "in_failing": True,
    }
    return describe_missing_key(failure(line(3, "LABELS[name]", value), kind=kind, message=message))


@pytest.mark.parametrize(
    ("message", "keys", "said"),
    [
        (
            "'Cat'",
            ["cat", "dog"],
            "has no key 'Cat': its keys are 'cat', 'dog'. 'cat' differs from it only in capitals or blanks.",
        ),
        ("'labels'", ["label", "box"], "The nearest is 'label'."),
        ("7", [1, 2], "has no key 7: its keys are 1, 2."),
        ("'a'", [], "it is empty."),
    ],
)
def test_the_dictionary_that_lacks_the_key(message: str, keys: list[Any], said: str) -> None:
    text, name = keyed(message, keys)
    assert text.endswith(said)
    assert name == "LABELS"


def test_nothing_is_said_where_the_key_may_be_there_or_the_error_is_another() -> None:
    assert keyed("'a'", ["b"], length=90) == ("", "")  # not all keys are known
    assert keyed("'b'", ["b"]) == ("", "")
    assert keyed("'a'", ["b"], kind="ValueError") == ("", "")
    assert keyed("not in the table", ["b"]) == ("", "")
