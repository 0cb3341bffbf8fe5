"""The records do not hold a feature that the program asks for, or hold it with another type or number of values.

What it is
----------
A `tf.train.Example` is a table of features by name. The description given to `parse_example` or `parse_single_example` says
which names, which types and how many values are expected. A name that is spelled otherwise in the file, a whole number where a
float is expected, or a list of boxes where one number is expected, ends the program at the first record that differs.

How we know
-----------
TensorFlow's parser names the feature and says what it found in its place. Unstall shows the line of the program that
describes this feature, and the lines that read the files.

When this is wrong
------------------
If only some of the files were written by an older version of the writer: then the description is right, and those files are to
be written again.

What to do
----------
Missing: compare the names with those that the writer used, or give a `default_value`. Type: describe it as it was written, and
cast it after that. Number: use `VarLenFeature`, or `FixedLenSequenceFeature` with `allow_missing=True`, for lists of varying
length, and `padded_batch` after that.
"""

from __future__ import annotations

import re
from typing import Any

from unstall.base.formatting import format_count
from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import Failure, Maker, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.errors.line_changes import replace_expression
from unstall.diagnosis.verdict import Clear, LineChange, Verdict
from unstall.journal.events import RecordFeaturesRead
from unstall.journal.reader import Journal

_SIZED = re.compile(r"FixedLenFeature\(\[(?P<sides>[\d, ]*)\]")
_OPEN = ": several in place of one, as a list with one for each object has, or none."  # where no record could be read
MAX_LISTED = 12  # features
MAX_NAMED = 3
_MISSING = re.compile(r"Feature: (?P<key>\S+) \(data type: (?P<asked>\w+)\) is required but could not be found")
_KEY = r"Key: (?P<key>[\w./:-]+?)[.,]?\s"
_TYPE = re.compile(
    _KEY + r".*?Data types don't match\. (?:Data type: (?P<held>\w+) but expected type: (?P<asked>\w+)|Expected type: "
    r"(?P<asked_2>\w+))",
    re.DOTALL,
)
_NUMBER = re.compile(
    _KEY
    + r".*?Number of (?P<type>\w+) values != expected\.\s+[Vv]alues size: (?P<held>\d+) but output shape: (?P<shape>\[[\d,]*\])",
    re.DOTALL,
)
_BROKEN = re.compile(_KEY + r"\s*Can't parse serialized Example(?:: (?:Some|Parsing) (?P<type>\w+?)_list)?")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message = failure.error.message
    for pattern, words in ((_MISSING, _of_missing), (_TYPE, _of_type), (_NUMBER, _of_number), (_BROKEN, _of_broken)):
        match = pattern.search(message)
        if match is not None:
            read = journal.last(RecordFeaturesRead)
            return _found(failure, match, read if read is not None and read.key == match["key"] else None, *words(match))
    return Clear("the error is about something else")


def _found(
    failure: Failure, match: re.Match[str], seen: RecordFeaturesRead | None, said: str, actions: tuple[str, ...]
) -> Verdict:
    named = [maker for maker in failure.makers if maker.what == "feature" and maker.name == match["key"]]
    described = next((maker for maker in named if "Feature" in maker.code), None)
    claims = [f"`{maker.name}` stands at {maker.where}: {maker.code}" for maker in named]
    read = [stage for stage in failure.written_stages if stage.what in ("TFRecordDataset", "interleave", "map")]
    claims += [f"the records come through {', '.join(f'{stage.what} ({stage.where})' for stage in read)}"] if read else []
    changes = _change(described, match) if described is not None else None
    wanted = _SIZED.search(described.code) if described is not None and match.re is _BROKEN else None
    if described is not None and wanted is not None:
        count = "exactly one value" if not wanted["sides"].strip() else f"exactly the shape [{wanted['sides']}]"
        said += f" FixedLenFeature([{wanted['sides']}]) at {described.where} asks for {count}."
    if seen is not None:
        said, claim, first = _with_features(said, seen, match)
        claims.append(claim)
        actions = (*first, *(each for each in actions if "FromString" not in each))
    return create_found(failure, said, actions, tuple(claims), described.where if described is not None else None, (changes,))


# --- with what the records have ---


def _with_features(said: str, seen: RecordFeaturesRead, match: re.Match[str]) -> tuple[str, str, tuple[str, ...]]:
    """The summary, a claim, and what to do first."""
    where = f"{seen.path}{f' and {seen.files - 1:,} more' if seen.files > 1 else ''}"
    records = format_count(seen.records, "record")
    claim = f"{records} of {where} {'has' if seen.records == 1 else 'have'}: {_list(seen.features)}"
    own = next((row for row in seen.features if row["name"] == seen.key), None)
    if match.re is _MISSING:
        return f"{said} {_of_lacking(seen, records)}", claim, _other_names(seen, match["asked"])
    if own is None:
        return f"{said} None of the {records} that were read has it.", claim, ()
    held = f"In the {records} that were read it has {_count(own)}."
    return f"{said.replace(_OPEN, '.')} {held}", claim, ()


def _of_lacking(seen: RecordFeaturesRead, records: str) -> str:
    if seen.lacking == seen.records:
        return f"None of the {records} that were read has it: they have {_list(seen.features)}."
    if seen.lacking:
        return f"{seen.lacking:,} of the {records} that were read lack it, the first is {seen.first_lacking}."
    return f"The {records} that were read have it; one that was not read lacks it."


def _other_names(seen: RecordFeaturesRead, asked: str) -> tuple[str, ...]:
    names = [row["name"] for row in seen.features if row["types"] == [asked]]
    if seen.lacking < seen.records or not names:
        return ()
    listed = " or ".join(f"`{name}`" for name in names[:MAX_NAMED])
    return (f"if {listed} is what is meant, ask for that name, where it is described and where it is used",)


def _list(features: list[dict[str, Any]]) -> str:
    rows = [f"`{row['name']}` ({_count(row)})" for row in features[:MAX_LISTED]]
    return ", ".join(rows) + (", …" if len(features) > MAX_LISTED else "")


def _count(row: dict[str, Any]) -> str:
    """2 to 4 int64 values"""
    kind, min_count, most = " or ".join(row["types"]), row["min_count"], row["max_count"]
    values = "value" if most == 1 else "values"
    return f"{most:,} {kind} {values}" if min_count == most else f"{min_count:,} to {most:,} {kind} {values}"


def _of_missing(match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    return (
        f"A record has no feature `{match['key']}`, which the program asks for as {match['asked']} and without a default.",
        (
            "compare the name with those that were written: "
            "tf.train.Example.FromString(next(iter(dataset)).numpy()).features.feature.keys()",
            "leave the feature out of the description, or give it a default_value, if records without it are right",
            "or write the records again with it",
        ),
    )


def _of_type(match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    held, asked = match["held"], match["asked"] or match["asked_2"]
    found = f", and the record holds {held}" if held else ", and the record holds another type"
    return (
        f"The feature `{match['key']}` has another type than the program asks for: it asks for {asked}{found}.",
        (
            "describe the feature with the type that was written, and use tf.cast after that",
            "or write the records again with the type that is asked for",
        ),
    )


def _of_number(match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    shape = match["shape"]
    wanted = "one value" if shape == "[]" else f"the shape {shape}"
    return (
        f"The feature `{match['key']}` holds {match['held']} {match['type']} values in a record, and the program "
        f"asks for {wanted}.",
        (
            "use tf.io.VarLenFeature, or FixedLenSequenceFeature([], dtype, allow_missing=True), if the number "
            "differs from record to record",
            "and padded_batch in place of batch after that: the elements then have different shapes",
            f"or describe it with the shape [{match['held']}], if every record holds as many",
        ),
    )


def _of_broken(match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    """Where it names the type, the parser of single examples speaks of their number: of types it says that they do not match."""
    said = (
        f"The feature `{match['key']}` of a record is not what the program asks for: it has another type, or another number of "
        "values."
    )
    if match["type"]:
        said = (
            f"The feature `{match['key']}` of a record has another number of {match['type']} values than the program asks for"
            f"{_OPEN}"
        )
    return (
        said,
        (
            "use tf.io.VarLenFeature, or FixedLenSequenceFeature([], dtype, allow_missing=True), if the number differs "
            "from record to record; where the elements then have different shapes, padded_batch in place of batch",
            "count them in a record: tf.train.Example.FromString(record.numpy())",
        ),
    )


def _change(maker: Maker, match: re.Match[str]) -> LineChange | None:
    """For a list in place of one value: a sequence, which gives a dense tensor as the code after it expects."""
    single = re.search(r"(?:tf\.io\.|tf\.)?FixedLenFeature\(\[\], (?P<dtype>[\w.]+)\)", maker.code)
    if single is None or match.re not in (_NUMBER, _BROKEN):
        return None
    after = f"tf.io.FixedLenSequenceFeature([], {single['dtype']}, allow_missing=True)"
    return replace_expression(maker, single[0], after, "if each record has its own number of values")
