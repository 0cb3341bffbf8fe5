"""handled_element: what is told of the element at hand, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.failed_programs import failed, line
from unstall.diagnosis.errors.failures import Failure, find_failure
from unstall.diagnosis.errors.handled_element import describe_element


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
