"""The labels hold values that the loss cannot take: NaN, a class without an output, a -1, boxes that are inverted.

What it is
----------
Class numbers must lie between 0 and the number of outputs less 1; labels of a binary cross-entropy between 0 and 1; boxes
must have xmin below xmax. TensorFlow on a CPU stops with an error at the first wrong class; on a GPU the loss becomes NaN;
JAX and PyTorch may go on without a word, and those examples teach nothing, or the wrong thing.

How we know
-----------
The labels given to fit are looked at, against the number of outputs and the loss. A class that the loss was told to ignore is
none. Only losses of Keras itself are judged this way: what your own loss does with a label is its own affair, unless the loss
has become NaN. NaN labels and inverted boxes are told once they have spoiled the loss. Or the error that ended the program says
that an annotation names a class which the list of classes lacks: the file and the line that it names are told. Of TFRecord
files whose configuration names a label map, the class numbers of some hundred records of each are compared with the map, and with
`num_classes`. A class that stands there as a text is none of them: the TensorFlow Object Detection API leaves out such objects.

When this is wrong
------------------
If labels that are out of range are masked by sample weights of 0 on purpose.

What to do
----------
Number the classes from 0. Give the layer one output per class. Leave out what has no label, or use `ignore_class`. Swap the
corners of boxes that are inverted: `unstall data check` names them.
"""

from __future__ import annotations

import re
from typing import Any

from unstall.diagnosis.batches import BatchArray, collect_batch_arrays, describe_bad_rows, find_failed_batch, find_labels
from unstall.diagnosis.errors.evidence import describe_elements, describe_insides, describe_numbers, find_whole_numbers
from unstall.diagnosis.errors.failures import Failure, find_failure
from unstall.diagnosis.errors.fatal_error import find_user_line, get_error_text
from unstall.diagnosis.learning_curve import LearningCurve, find_current_not_finite, format_number, read_current_curve
from unstall.diagnosis.pipelines import find_last_function
from unstall.diagnosis.probe_facts import find_current_fit, find_missing_probe, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import ClassesCompared, ErrorRaised, Frame, LabelFound
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

EXPLAINS = ("loss_not_finite", "loss_not_falling", "weights_frozen")
MAX_LISTED = 12  # labels of a batch
TOLERANCE = 1e-3  # of a label's range
MAX_CLASSES = 1000  # whole numbers up to here are taken for classes
PROPER_BOXES = 0.8  # so many of the boxes must be proper, for four numbers to be taken for corners
_CRASHES = (
    (r"label value of (-?\d+) which is outside the valid range of \[0, (\d+)\)", "class {0} has no output: there are {1}"),
    (r"Class values must be (?:smaller than num_classes|non-negative)", "a class number has no output"),
    (r"Target (-?\d+) is out of bounds", "class {0} has no output"),
    (r"t >= 0 && t < n_classes", "a class number has no output"),
    (r"all elements of target should be between 0 and 1", "this loss takes labels from 0 to 1 alone"),
)
_ONE_HOT = re.compile(
    r"index (?P<number>-?\d+) is out of bounds for (?:axis|dimension) (?P<axis>-?\d+) with size (?P<classes>\d+)"
)
_MAKES_ONE_HOT = re.compile(r"one_?hot|to_categorical", re.IGNORECASE)  # names of functions
# The words of trainers for a class in an annotation file that their list of classes lacks, and for its place there.
_UNKNOWN_CLASS = re.compile(
    r"\bunknown (?:class|label|category)(?: name| id)?\b:? *(?:['\"](?P<name>[^'\"]+)['\"]|(?P<bare>[\w.-]+)(?=$| \(|[,;]))"
    r"|\b(?:class|label|category)(?: name| id)? ['\"](?P<other>[^'\"]+)['\"] (?:is |was )?"
    r"(?:not (?:in|found in|included in|part of)|missing (?:in|from))\b",
    re.IGNORECASE | re.MULTILINE,
)
_OF_IDS = re.compile(r"category_id|class_id|label_id")
_OF_DATA = re.compile(
    r"annotation|label[ _]?map|\btraining (?:data ?)?set\b|\.(?:csv|xml|json|txt|ya?ml|pbtxt)\b|\bimages?\b", re.IGNORECASE
)
_PLACE = re.compile(r"(?P<file>\S+\.(?:csv|txt|json|xml|ya?ml))\b['\"]?[:,]? *(?:at |on |in )?line (?P<line>\d+)")


def examine(journal: Journal) -> Verdict:
    unseen = find_missing_probe(journal)
    if unseen is not None:
        return unseen
    crash = _refused(journal) or _crash(journal) or _of_one_hot(journal) or _unknown_class(journal)
    if crash is not None:
        return crash
    run = read_current_curve(journal)
    if run is None:
        return Clear("no training was seen")
    outside = _outside_map(journal)
    if outside is not None:
        return outside
    broken = _not_finite(run) or _inside_out(run)
    if broken is not None:
        return broken
    for index, loss in enumerate(run.model.get("losses") or []):
        outputs = run.model.get("outputs") or []
        labels = find_labels(run, index)
        if labels is not None and labels.events and index < len(outputs) and not run.model.get("own_step"):
            found = _out_of_range(run, loss, outputs[index], labels)
            if found is not None:
                return found
    return Clear("the labels that were looked at fit the loss")


def _crash(journal: Journal) -> Found | None:
    for error in journal.of(ErrorRaised):
        for pattern, words in _CRASHES:
            match = re.search(pattern, error.message) if error.fatal else None
            if match is None:
                continue
            fit = find_current_fit(journal)
            line = find_user_line(error, find_program_folder(journal)) or shorten_path(journal, fit.where if fit else None)
            what = words.format(*match.groups())
            failure = find_failure(journal)
            classes, seen = _classes_and_labels(failure) if failure is not None and failure.error is error else (None, ())
            if classes and "there are" not in what and "class" in what:
                what += f": the model has {classes} outputs, for the classes 0 to {classes - 1}"
            said = Evidence(f"{error.kind.split('.')[-1]}: {match.group(0)}", None, None, (error,))
            place, stands = _table_line(journal)
            return Found(
                certainty=Certainty.CERTAIN,
                summary=f"The labels do not fit the model: {what}.{place} The program ended with that error.",
                evidence=(said, *stands, *(Evidence(row, None, None, (error,)) for row in seen)),
                actions=_renumber(classes, seen),
                where=line,
                effect=Effect.STOPS,
            )
    return None


def _renumber(classes: int | None, seen: tuple[str, ...]) -> tuple[str, ...]:
    """What to do about class numbers that have no output."""
    by_id = "map each id to its place in the list of classes: {id: at for at, id in enumerate(sorted(ids))}"
    if any(_OF_IDS.search(row) for row in seen):
        return (f"the labels are ids of an annotation file, which need not follow each other: {by_id}",)
    outputs = f"or, if there are more classes than {classes}, give" if classes else "give"
    if any(re.search(rf"(?:from|holds) 1\b.* (?:to|and) {classes}$", row) for row in seen):
        return ("they are numbered from 1: give the loss labels - 1", f"{outputs} the last layer one output more")
    ids = (f"where they are ids of an annotation file, {by_id}",) if seen else ()
    return ("number the classes from 0", f"{outputs} the last layer one output per class", *ids)


def _classes_and_labels(failure: Failure) -> tuple[int | None, tuple[str, ...]]:
    """How many outputs a loss of PyTorch was given, what the labels of the batch are, and where they are made."""
    outputs, labels = failure.argument("cross_entropy", "input"), failure.argument("cross_entropy", "target")
    refused = re.search(_CRASHES[0][0], failure.error.message)
    if refused is not None:
        return _of_keras(failure, refused)
    if outputs is None or labels is None or not outputs.shape or len(outputs.shape) < 2:
        return None, ()
    least, most = labels.facts.get("min"), labels.facts.get("max")
    ranged = (f"the labels of the batch go from {least:.0f} to {most:.0f}",) if least is not None and most is not None else ()
    distinct = labels.facts.get("distinct") or []
    if len(distinct) > 1:
        ranged = (f"the labels of the batch are {', '.join(map(str, distinct[:-1]))} and {distinct[-1]}",)
    return outputs.shape[1], (*ranged, *_numbers_of_all(failure), *describe_elements(failure))


def _numbers_of_all(failure: Failure) -> tuple[str, ...]:
    """Which numbers stand under the key of the labels in all elements of the data set."""
    elements = failure.maker("elements")
    rows = (elements.facts.get("numbers") or [])[-1:] if elements is not None else []
    return tuple(
        f"the {row['length']:,} entries of `{row['name']}` have under {row['key']!r}: {', '.join(map(str, row['distinct']))}"
        for row in rows
        if _OF_IDS.search(row["key"]) or re.search("class|label|categor", row["key"])
    )


def _of_keras(failure: Failure, refused: re.Match[str]) -> tuple[int, tuple[str, ...]]:
    """From the array that holds the label, with the lines that make it; else from the batch that the message lists."""
    number, classes = int(refused[1]), int(refused[2])
    held = find_whole_numbers(failure, number)
    if held is not None:
        return classes, (describe_numbers(held), *describe_insides([held]))
    batch = sorted(
        {int(each) for each in re.findall(r"-?\d+", failure.error.message.partition("Label values:")[2].partition("\n")[0])}
    )
    listed = ", ".join(map(str, batch)) if 1 < len(batch) <= MAX_LISTED else ""
    return classes, ((f"the labels of the batch are {listed}",) if listed else ())


def _of_one_hot(journal: Journal) -> Found | None:
    """Class numbers that are turned into vectors of too few parts: to_categorical of Keras, or another function."""
    failure = find_failure(journal)
    match = _ONE_HOT.search(failure.error.message) if failure is not None else None
    if failure is None or match is None:
        return None
    by = next((name for name in map(_get_name, failure.error.frames[:3]) if _MAKES_ONE_HOT.search(name)), None)
    if by is None:
        return None
    if match["axis"] == "0" and (failure.raised is None or "eye(" not in failure.raised.code):
        return None  # the side of the rows: np.eye(classes)[labels] alone has its classes there
    number, classes = int(match["number"]), int(match["classes"])
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"A label is class {number}, and {by} makes vectors for {classes} classes, 0 to {classes - 1}."
        " The program ended with that error.",
        evidence=(Evidence(f"the error that ended it: {failure.text.line}", number, classes - 1, failure.events),),
        actions=(
            "number the classes from 0, as by labels - 1, if they begin at 1"
            if number == classes
            else "map each label to its place in the list of classes: ids of an annotation file are none",
            "or give as number of classes the largest label plus 1",
        ),
        where=failure.raised.where if failure.raised is not None else None,
        effect=Effect.STOPS,
    )


def _get_name(frame: Frame) -> str:
    """Its own name, without that of its class."""
    return frame["function"].rpartition(".")[2]


def _table_line(journal: Journal) -> tuple[str, tuple[Evidence, ...]]:
    """Where the label stands in the program's own files, if that was found."""
    found = journal.last(LabelFound)
    if found is None:
        return "", ()
    first = f"{found.path}:{found.line}"
    stands = f"It stands in {first}" if found.times == 1 else f"It stands on {found.times:,} lines, the first of them {first}"
    return f" {stands}.", (Evidence(stands[0].lower() + stands[1:], found.value, None, (found,)),)


def _unknown_class(journal: Journal) -> Found | None:
    """The program itself says that an annotation names a class which its list of classes lacks."""
    for error in [error for error in journal.of(ErrorRaised) if error.fatal and _OF_DATA.search(error.message)]:
        said = _UNKNOWN_CLASS.search(error.message)
        if said is None:
            continue
        name = said["name"] or said["bare"] or said["other"]
        line, at = get_error_text(error).line, _PLACE.search(error.message)
        place, stands = (f" It stands in {at['file']}:{at['line']}.", ()) if at else _table_line(journal)
        return Found(
            certainty=Certainty.CERTAIN,
            summary=f"An annotation has the class {name!r}, which the list of classes does not have.{place}"
            " The program ended with that error.",
            evidence=(Evidence(line, None, None, (error,)), *stands),
            actions=(
                "correct the annotation, or add the class to the list of classes",
                "look for others: unstall data check DATA",
            ),
            where=find_user_line(error, find_program_folder(journal)),
            effect=Effect.STOPS,
        )
    return None


def _outside_map(journal: Journal) -> Found | None:
    """Records whose class numbers the label map or the model does not have: made one-hot they are zeros, without an error."""
    seen = journal.last(ClassesCompared)
    if seen is None or not (seen.not_in_map or seen.above_num_classes):
        return None
    at = shorten_path(journal, f"{seen.configuration}:{seen.num_classes_line}") if seen.num_classes_line else None
    do: tuple[str, ...]
    if seen.not_in_map:
        count, lacks, where = seen.not_in_map, f"which the label map {seen.label_map} does not have", None
        do = ("correct the class of these objects, or add it to the label map", "look for others: unstall data check DATA")
    else:
        count, lacks, where = seen.above_num_classes, f"but the model is configured for {seen.num_classes}", at
        do = (f"set num_classes to the highest number of the label map, {seen.max_in_map}",)
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"Record {seen.record} of {seen.path} has the class number {seen.value}, {lacks}. Such a class has no output:"
        " its objects are learned as none, and no error says so.",
        evidence=(
            Evidence(
                f"objects with such a class: {count:,} of {seen.objects:,} in the {seen.records:,} records that were looked at",
                count,
                0,
                (seen,),
            ),
        ),
        actions=do,
        where=where,
        effect=Effect.SPOILS,
    )


def _refused(journal: Journal) -> Found | None:
    """A loss raised, and the labels of the batch that it was given are not finite."""
    refused = find_failed_batch(journal)
    bad = refused.bad("y") if refused is not None else []
    if refused is None or not bad:
        return None
    count = describe_bad_rows(bad[0])
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The labels of the batch hold numbers which are not finite ({count}). The step ended with an error.",
        evidence=(
            Evidence(f"the error that ended it: {get_error_text(refused.error).line}", None, None, (refused.error,)),
            Evidence(
                f"numbers that are not finite in the labels of the batch: {count}", bad[0]["not_finite"], 0, (refused.looked,)
            ),
        ),
        actions=("leave out the rows without a label, or fill them: numpy.isfinite(labels)",),
        where=find_user_line(refused.error, find_program_folder(journal)),
        effect=Effect.STOPS,
    )


def _not_finite(run: LearningCurve) -> Found | None:
    bad = next((labels for labels in collect_batch_arrays(run, "y") if labels.not_finite), None)
    if bad is None or not find_current_not_finite(run):
        return None
    row = f", row {bad.bad_row:,} first" if bad.bad_row is not None else ""
    made = find_last_function(run.journal)
    by = f" They come out of {made[0]} at {made[1]}: it makes them so, or was given them so." if made else ""
    return _found(
        run,
        bad,
        f"Some {bad.label} are not numbers (NaN or infinite){row}.{by} The loss, or the weights, are no longer finite.",
        Evidence(f"{bad.bad}{row}", bad.not_finite, 0, tuple(bad.events[:1])),
        (
            "leave out the rows without a label, or fill them: numpy.isfinite(labels)",
            *(["look for a division by 0, a log or a root in what makes the labels"] if made else []),
        ),
    )


def _inside_out(run: LearningCurve) -> Found | None:
    if not find_current_not_finite(run):
        return None
    for labels in collect_batch_arrays(run, "y"):
        max_wrong = (1 - PROPER_BOXES) * labels.boxes
        if 0 < labels.boxes_inside_out <= max_wrong:  # read as corners
            read_as, bad, what = (
                "read as corners",
                labels.boxes_inside_out,
                "their right edge left of the left one, or the bottom above the top",
            )
        elif 0 < labels.boxes_negative <= max_wrong < labels.boxes_inside_out:  # read as a place and a size
            read_as, bad, what = "read as a place and a size", labels.boxes_negative, "a width or a height below 0"
        else:
            continue
        count = f"{bad:,} of {labels.boxes:,}"
        return _found(
            run,
            labels,
            f"Boxes are inside out: {read_as}, {count} of those looked at have {what}.",
            Evidence(f"boxes with a negative width or height: {count}", bad, 0, tuple(labels.events[:1])),
            ("swap the corners of such boxes, or leave them out: `unstall data check` names them",),
        )
    return None


def _out_of_range(run: LearningCurve, loss: dict[str, Any], output: dict[str, Any], labels: BatchArray) -> Found | None:
    name, units = loss["name"], output.get("units")
    if name == "sparsecategoricalcrossentropy" and units and units > 1 and labels.whole:
        ignored = loss.get("ignore_class")
        values = [value for value in [*labels.lowest, *labels.highest] if value != ignored]
        if values and (max(values) >= units or min(values) < 0):
            return _wrong_classes(run, labels, min(values), max(values), units)
    if name in ("binarycrossentropy", "binaryfocalcrossentropy", "categoricalcrossentropy"):
        return _not_shares(run, labels, output)
    return None


def _wrong_classes(run: LearningCurve, labels: BatchArray, least: int, most: int, units: int) -> Found:
    wrong = f"class {least}" if least < 0 else f"class {most}"
    from_one = " They seem to be numbered from 1." if least == 1 and most == units else ""
    return _found(
        run,
        labels,
        f"The {labels.label} go from {least} to {most}, but the model has {units} outputs, for the classes 0 to {units - 1}:"
        f" {wrong} has none.{from_one}",
        Evidence(f"class numbers from {least} to {most}, outputs 0 to {units - 1}", most, units - 1, tuple(labels.events)),
        ("number the classes from 0: labels - 1" if from_one else "number the classes from 0 to the number of outputs less 1",
         f"or give the last layer {most + 1} outputs" if most >= units else "or leave out what has no class: ignore_class=-1"),
    )  # fmt: skip


def _not_shares(run: LearningCurve, labels: BatchArray, output: dict[str, Any]) -> Found | None:
    least, most = labels.least, labels.most
    if least is None or most is None or (least >= -TOLERANCE and most <= 1 + TOLERANCE):
        return None
    several = labels.whole and len(labels.lowest) > 2 and output.get("units") == 1 and least >= 0 and most < MAX_CLASSES
    if several:
        return None  # class numbers given to a loss for two classes: that is the loss, not the labels
    return _found(
        run,
        labels,
        f"The {labels.label} go from {format_number(least)} to {format_number(most)}, but this loss needs them between 0 and 1.",
        Evidence(f"labels from {format_number(least)} to {format_number(most)}, needed: 0 to 1", most, 1.0, tuple(labels.events)),
        (
            "turn -1 and 1 into 0 and 1: (labels + 1) / 2" if least < 0 else f"divide them by {format_number(most)}",
            "or use a loss made for them: hinge for -1 and 1, mean squared error for measurements",
        ),
    )


def _found(run: LearningCurve, labels: BatchArray, summary: str, evidence: Evidence, do: tuple[str, ...]) -> Found:
    return Found(
        certainty=Certainty.CERTAIN,
        summary=summary,
        evidence=(evidence,),
        actions=do,
        where=shorten_path(run.journal, run.fit.where),
        effect=Effect.SPOILS,
    )
