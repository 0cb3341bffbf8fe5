"""record_feature_missing: which feature, what the record holds in its place, and the line that describes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, T0
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import record_feature_missing
from unstall.diagnosis.verdict import Clear, Found, LineChange, Unknown
from unstall.journal.events import RecordFeaturesRead

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


def read(key: str, lacking: int, **features: tuple[str, int, int]) -> RecordFeaturesRead:
    rows = [
        {"name": name, "types": [kind], "min_count": min_count, "max_count": max_count}
        for name, (kind, min_count, max_count) in features.items()
    ]
    first = "/data/a.tfrecord, record 4" if lacking else ""
    return RecordFeaturesRead(
        at=T0 + 9.5, key=key, files=2, path="/data/a.tfrecord", records=30, lacking=lacking, first_lacking=first, features=rows
    )


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (30, "None of the 30 records that were read has it: they have `count` (1 int64 value), `name` (1 string value)."),
        (3, "3 of the 30 records that were read lack it, the first is /data/a.tfrecord, record 4."),
        (0, "The 30 records that were read have it; one that was not read lacks it."),
    ],
)
def test_what_the_records_have_in_its_place_is_told(lacking: int, said: str) -> None:
    seen = read("image/objects", lacking, count=("int64", 1, 1), name=("string", 1, 1))
    verdict = record_feature_missing.examine(failed(OF_TF, MISSING, line(43, "fit(ds)"), events=[seen]))
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith(said)
    assert ("`count` is what is meant" in verdict.actions[0]) == (lacking == 30)
    assert any(each.claim.startswith("30 records of /data/a.tfrecord and 1 more have:") for each in verdict.evidence)


def test_how_many_values_the_records_have_is_told() -> None:
    message = "Key: label.  Can't parse serialized Example: Some int64_list slice was not parsed."
    verdict = record_feature_missing.examine(
        failed(OF_TF, message, line(43, "fit(ds)"), events=[read("label", 0, label=("int64", 2, 4))])
    )
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("than the program asks for. In the 30 records that were read it has 2 to 4 int64 values.")


def test_records_that_were_read_for_another_feature_are_not_told() -> None:
    verdict = record_feature_missing.examine(failed(OF_TF, MISSING, line(43, "fit(ds)"), events=[read("label", 30)]))
    assert isinstance(verdict, Found) and "30" not in verdict.summary


def test_clear_of_other_errors() -> None:
    assert isinstance(record_feature_missing.examine(failed("KeyError", "'image/objects'", line(43, "x[k]"))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(record_feature_missing.examine(unseen()), Unknown)
