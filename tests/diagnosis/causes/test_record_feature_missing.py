"""record_feature_missing: which feature, what the record holds in its place, and the line that describes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import record_feature_missing
from unstall.diagnosis.verdict import Clear, Found, LineChange, Unknown

OF_TF = "tensorflow.python.framework.errors_impl.InvalidArgumentError"
MISSING = (
    "{{function_node x}} Feature: image/objects (data type: int64) is required but could not be found.\n\t [[{{node Parse}}]]"
)
NUMBER = "Key: xmin.  Can't parse serialized Example.  Number of float values != expected.  values size: 3 but output shape: []"


def feature(key: str, number: int, source: str) -> dict[str, Any]:
    return {"what": "feature", "name": key, "where": f"{FOLDER}/train.py:{number}", "first": number, "source": [source]}


def test_found_with_the_line_that_describes_it() -> None:
    described = feature("image/objects", 19, '    "image/objects": tf.io.FixedLenFeature([], tf.int64),')
    used = feature("image/objects", 30, 'count = features["image/objects"]')
    verdict = record_feature_missing.examine(failed(OF_TF, MISSING, line(43, "for batch in ds:"), makers=[described, used]))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:19"
    assert (
        verdict.summary == "A record has no feature `image/objects`, which the program asks for as int64 and without a default."
    )


def test_found_for_a_list_in_place_of_one_value_with_the_change() -> None:
    source = 'spec["xmin"] = tf.io.FixedLenFeature([], tf.float32)'
    verdict = record_feature_missing.examine(failed(OF_TF, NUMBER, line(43, "fit(ds)"), makers=[feature("xmin", 36, source)]))
    assert isinstance(verdict, Found)
    assert "holds 3 float values in a record, and the program asks for one value" in verdict.summary
    after = 'spec["xmin"] = tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)'
    assert verdict.changes == (LineChange("train.py:36", (source,), (after,), "if each record has its own number of values"),)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "Name: <unknown>, Key: label, Index: 0.  Data types don't match. Data type: string but expected type: int64",
            "it asks for int64, and the record holds string",
        ),
        ("Key: label.  Can't parse serialized Example.", "another type, or another number of values"),
    ],
)
def test_found_for_another_type(message: str, said: str) -> None:
    verdict = record_feature_missing.examine(failed(OF_TF, message, line(43, "for batch in ds:")))
    assert isinstance(verdict, Found)
    assert said in verdict.summary
    assert verdict.where == "train.py:43"


def test_found_for_another_number_where_the_parser_counts_none() -> None:
    source = 'spec["label"] = tf.io.FixedLenFeature([], tf.int64)'
    described = {"what": "feature", "name": "label", "where": f"{FOLDER}/train.py:45", "first": 45, "source": [source]}
    message = "Key: label.  Can't parse serialized Example: Some int64_list slice was not parsed."
    verdict = record_feature_missing.examine(failed(OF_TF, message, line(43, "for batch in ds:"), makers=[described]))
    assert isinstance(verdict, Found)
    assert "another number of int64 values" in verdict.summary
    assert verdict.summary.endswith("FixedLenFeature([]) at train.py:45 asks for exactly one value.")
    assert verdict.changes[0].after == (source.replace("FixedLen", "FixedLenSequence").replace("64)", "64, allow_missing=True)"),)


def test_clear_of_other_errors() -> None:
    assert isinstance(record_feature_missing.examine(failed("KeyError", "'image/objects'", line(43, "x[k]"))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(record_feature_missing.examine(unseen()), Unknown)
