"""labels_invalid: labels that the loss cannot take, and odd ones that it can."""

from typing import Any

import pytest

from tests.diagnosis import failed_programs
from tests.diagnosis.builders import FOLDER, T0, journal, lib, started
from tests.diagnosis.error_builders import call, ended, line
from tests.diagnosis.learning_curve_builders import array, batch, broke, classes, falling, loss, model, not_finite, output, run
from tests.diagnosis.pipeline_events import measured, node, stage
from tests.diagnosis.probe_fact_builders import inside
from unstall.diagnosis.causes import labels_invalid
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ClassesCompared, ErrorRaised, Event, LabelFound, ProcessEnded

BOXES = {"dtype": "float32", "shape": [12000, 4], "min": 0.0, "max": 1.0, "whole": False}


def verdict_of(labels: dict[str, Any], **facts: Any) -> object:
    return labels_invalid.examine(run(model(**facts), batch(array(), labels), falling()))


def test_found_when_classes_are_numbered_from_one() -> None:
    verdict = verdict_of(classes(1, 10))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "class 10 has none. They seem to be numbered from 1" in verdict.summary
    assert verdict.where == "train.py:60"


def test_found_when_a_class_is_below_zero() -> None:
    assert isinstance(verdict_of(classes(-1, 9)), Found)


def test_found_when_binary_labels_are_minus_one_and_one() -> None:
    labels = classes(-1, 1, lowest=[-1, 1], highest=[-1, 1])
    verdict = verdict_of(labels, outputs=[output("sigmoid", 1)], losses=[loss("binarycrossentropy")])
    assert isinstance(verdict, Found)
    assert "between 0 and 1" in verdict.summary


def test_found_when_labels_are_nan_and_so_is_the_loss() -> None:
    bad = batch(array("y", not_finite=1, first_bad_row=15000), at=5.1, source="searched arrays")
    verdict = labels_invalid.examine(run(model(), batch(array(), array("y")), broke(), not_finite(), bad))
    assert isinstance(verdict, Found)
    assert "row 15,000 first" in verdict.summary
    assert verdict.evidence[0].claim == "at least 1 of the numbers looked at in the labels is not finite, row 15,000 first"


def test_a_label_that_was_looked_at_and_found_again_is_counted_once() -> None:
    seen = batch(array("y", not_finite=1), at=1.0, source="arrays")
    found = batch(array("y", not_finite=1, first_bad_row=330), at=5.1, source="searched arrays")
    verdict = labels_invalid.examine(run(model(), seen, broke(), not_finite(), found))
    assert isinstance(verdict, Found)
    assert verdict.evidence[0].claim == "at least 1 of the numbers looked at in the labels is not finite, row 330 first"


def test_the_function_that_makes_the_labels_is_named() -> None:
    nodes = [node("TensorSlice", 900), node("Map", 900, 24.0), node("BatchV2", 90, 0.5)]
    stages = [stage("TensorSlice", 10), {**stage("Map", 22, function="encode"), "stage": "map"}, stage("Batch", 12)]
    stages[1]["arguments"]["function_where"] = f"{FOLDER}/train.py:15"
    bad = batch(array("y", not_finite=64), at=5.1)
    verdict = labels_invalid.examine(
        run(model(), batch(array(), array("y")), broke(), not_finite(), bad, measured(6, nodes, stages))
    )
    assert isinstance(verdict, Found)
    assert "They come out of encode at train.py:15" in verdict.summary


def test_found_when_boxes_are_inside_out_and_the_loss_is_nan() -> None:
    boxes = array("y", **BOXES, boxes={"rows": 12000, "inside_out": 3, "negative_size": 0})
    events = (model(losses=[loss("", where=f"{FOLDER}/losses.py:3")]), batch(array(), boxes))
    verdict = labels_invalid.examine(run(*events, broke(), not_finite()))
    assert isinstance(verdict, Found)
    assert "3 of 12,000" in verdict.summary
    assert isinstance(labels_invalid.examine(run(*events, falling())), Clear)


def test_found_when_boxes_given_by_place_and_size_have_a_negative_size() -> None:
    boxes = array("y", **BOXES, boxes={"rows": 12000, "inside_out": 6000, "negative_size": 2})
    verdict = labels_invalid.examine(run(model(losses=[loss("")]), batch(array(), boxes), broke(), not_finite()))
    assert isinstance(verdict, Found)
    assert "2 of 12,000 of those looked at have a width or a height below 0" in verdict.summary


def test_found_in_the_error_that_ended_the_program() -> None:
    message = "Received a label value of 10 which is outside the valid range of [0, 10).  Label values: 10 6 4"
    frames: Any = [
        {
            "function": "sparse_categorical_crossentropy",
            "file": "/x/site-packages/keras/src/backend/nn.py",
            "line": 1,
            "module": "",
        },
        {"function": "<module>", "file": f"{FOLDER}/train.py", "line": 61, "module": ""},
    ]
    error = ErrorRaised(at=T0 + 9, kind="tensorflow.InvalidArgumentError", message=message, frames=frames, fatal=True)
    verdict = labels_invalid.examine(journal(started(), inside(), error))
    assert isinstance(verdict, Found)
    assert "class 10 has no output: there are 10" in verdict.summary
    assert verdict.where == "train.py:61"


def test_clear_for_a_class_that_the_loss_ignores() -> None:
    assert isinstance(verdict_of(classes(-1, 9), losses=[loss(ignore_class=-1.0)]), Clear)
    labels = classes(0, 9, max=255.0, highest=[7, 8, 9, 255])
    assert isinstance(verdict_of(labels, losses=[loss(ignore_class=255.0)]), Clear)


def test_clear_for_a_loss_of_ones_own() -> None:
    labels = classes(0, 2, max=255.0, highest=[0, 1, 2, 255])
    assert isinstance(verdict_of(labels, losses=[loss("", own="masked", where=f"{FOLDER}/losses.py:3")]), Clear)


def test_clear_for_hinge_with_minus_one_and_one() -> None:
    assert isinstance(verdict_of(classes(-1, 1), outputs=[output("tanh", 1)], losses=[loss("hinge")]), Clear)


def test_clear_when_several_classes_meet_a_binary_loss() -> None:
    """That is the loss, not the labels."""
    assert isinstance(verdict_of(classes(0, 6), outputs=[output("sigmoid", 1)], losses=[loss("binarycrossentropy")]), Clear)


def test_clear_when_it_is_not_known_which_labels_belong_to_which_output() -> None:
    two = [output(name="a", units=3), output(name="b", units=50)]
    events = (model(outputs=two, losses=[loss(), loss()]), batch(array(), classes(0, 40)), falling())
    assert isinstance(labels_invalid.examine(run(*events)), Clear)


def test_unknown_without_a_look_inside() -> None:
    assert isinstance(labels_invalid.examine(journal(started())), Unknown)


def _ended_with(kind: str, message: str, *looked: Event) -> object:
    frames = [{"function": "read", "file": f"{FOLDER}/data.py", "line": 12, "module": ""}]
    error = ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=frames, fatal=True)
    return labels_invalid.examine(journal(started(), inside(), error, *looked))


def test_the_line_of_the_table_is_named() -> None:
    once = LabelFound(at=T0 + 10, path="/data/train.csv", line=13, value=11, times=1)
    verdict = _ended_with("IndexError", "Target 11 is out of bounds.", once)
    assert isinstance(verdict, Found) and "class 11 has no output. It stands in /data/train.csv:13. The" in verdict.summary
    often = LabelFound(at=T0 + 10, path="/data/train.csv", line=13, value=11, times=7)
    verdict = _ended_with("IndexError", "Target 11 is out of bounds.", often)
    assert isinstance(verdict, Found) and "It stands on 7 lines, the first of them /data/train.csv:13." in verdict.summary


def test_found_where_the_program_says_that_an_annotation_has_an_unknown_class() -> None:
    messages = (
        "invalid CSV annotations file: data/train.csv: line 31: unknown class name: 'pentagram' (classes: {'circle': 0})",
        "data/train.csv, line 31: class 'pentagram' is not in the label map",
        "Unknown label pentagram (image 7, data/train.csv:line 31)",
    )
    for message in messages:
        verdict = _ended_with("ValueError", message)
        assert isinstance(verdict, Found), message
        assert "'pentagram'" in verdict.summary and "It stands in data/train.csv:31." in verdict.summary
        assert verdict.where == "data.py:12"


def test_the_line_of_the_table_is_named_for_a_class_that_the_list_lacks() -> None:
    once = LabelFound(at=T0 + 10, path="/data/train.csv", line=13, value=11, times=1)
    verdict = _ended_with("KeyError", "Label '11' was not included in the training dataset", once)
    assert isinstance(verdict, Found) and "the class '11'" in verdict.summary and "/data/train.csv:13" in verdict.summary


def test_clear_where_an_unknown_class_is_none_of_the_data() -> None:
    messages = (
        "class 'Shapes' is not in the dataset registry",
        "Unknown label type: continuous. Maybe you are trying to fit a classifier",
        "Could not locate class 'Attention'. Make sure custom classes are decorated",
        "Unknown class 'FPN' in the configuration of the model",
        "class 'Adam' is not in the registry",
    )
    for message in messages:
        assert isinstance(_ended_with("ValueError", message), Clear), message


def test_what_a_loss_of_pytorch_was_given_is_told_with_the_lines_that_make_the_labels() -> None:
    elements = {
        "what": "elements", "name": "Crops.__getitem__", "where": f"{FOLDER}/dataset.py:47",
        "parts": [[], [{"where": f"{FOLDER}/dataset.py:53", "source": 'return patch, ann["category_id"]'}]],
    }  # fmt: skip
    given = call(
        "cross_entropy",
        {"name": "input", "type": "torch.Tensor", "shape": [10, 5], "dtype": "float32"},
        {"name": "target", "type": "torch.Tensor", "shape": [10], "dtype": "int64", "min": 1.0, "max": 8.0},
    )
    verdict = labels_invalid.examine(
        ended("IndexError", "Target 8 is out of bounds.", line("loss = criterion(model(x), y)"), makers=[elements], calls=[given])
    )
    assert isinstance(verdict, Found)
    assert "class 8 has no output: the model has 5 outputs, for the classes 0 to 4." in verdict.summary
    claims = " ".join(each.claim for each in verdict.evidence)
    assert "the labels of the batch go from 1 to 8" in claims
    assert 'part 2 is made at dataset.py:53: return patch, ann["category_id"]' in claims


def compared(**counts: Any) -> ClassesCompared:
    facts = {"label_map": "/data/map.pbtxt", "max_in_map": 6, "configuration": f"{FOLDER}/pipeline.config", "num_classes": 3}
    more = {"num_classes_line": 4, "records": 20, "objects": 60, "path": "/data/a.record", "record": 7, "value": 99}
    return ClassesCompared(at=T0 + 5, **{**facts, **more, **counts})


REFUSED = "Received a label value of 7 which is outside the valid range of [0, 3).  Label values: 3 3 7 1 1\n\t [[{{node loss}}]]"
OF_TF = "tensorflow.python.framework.errors_impl.InvalidArgumentError"


def test_what_a_loss_of_keras_was_given_is_told_with_the_lines_that_make_the_labels() -> None:
    made = [{"where": f"{FOLDER}/train.py:22", "source": 'labels.append(annotation["category_id"])'}]
    labels = failed_programs.array("labels", [90], "int64", min=1.0, max=7.0, distinct=[1, 3, 7], made_in=made, made_with="read")
    others = failed_programs.array("sizes", [90], "int64", min=1.0, max=9.0, distinct=[1, 9])
    verdict = labels_invalid.examine(
        failed_programs.failed(OF_TF, REFUSED, failed_programs.line(36, "model.fit(boxes, labels)", labels, others))
    )
    assert isinstance(verdict, Found)
    claims = [each.claim for each in verdict.evidence]
    assert "`labels` holds 1, 3 and 7" in claims
    assert verdict.actions[0].startswith("the labels are ids of an annotation file")


def test_the_labels_of_the_batch_are_told_where_no_array_is_at_hand() -> None:
    verdict = labels_invalid.examine(failed_programs.failed(OF_TF, REFUSED, failed_programs.line(36, "model.fit(data)")))
    assert isinstance(verdict, Found)
    assert "the labels of the batch are 1, 3, 7" in [each.claim for each in verdict.evidence]


def test_labels_from_one_to_the_number_of_classes_are_numbered_from_one() -> None:
    labels = failed_programs.array("labels", [90], "int64", min=1.0, max=3.0, distinct=[1, 2, 3])
    message = REFUSED.replace("value of 7", "value of 3").replace("3 3 7 1 1", "3 3 2 1 1")
    verdict = labels_invalid.examine(
        failed_programs.failed(OF_TF, message, failed_programs.line(36, "model.fit(x, labels)", labels))
    )
    assert isinstance(verdict, Found)
    assert verdict.actions[0] == "they are numbered from 1: give the loss labels - 1"


def test_found_where_records_have_a_class_that_the_label_map_lacks() -> None:
    verdict = labels_invalid.examine(run(model(), falling(), compared(not_in_map=2)))
    assert isinstance(verdict, Found)
    assert "Record 7 of /data/a.record has the class number 99, which the label map /data/map.pbtxt does not" in verdict.summary
    assert verdict.evidence[0].claim == "objects with such a class: 2 of 60 in the 20 records that were looked at"


def test_found_where_the_model_is_configured_for_fewer_classes() -> None:
    verdict = labels_invalid.examine(run(model(), falling(), compared(above_num_classes=9, value=5)))
    assert isinstance(verdict, Found)
    assert "has the class number 5, but the model is configured for 3" in verdict.summary
    assert verdict.where == "pipeline.config:4"


def test_clear_where_no_training_was_seen() -> None:
    """A program may read records for another reason."""
    assert isinstance(labels_invalid.examine(journal(started(), inside(), compared(not_in_map=2))), Clear)


def test_clear_where_the_classes_of_the_records_are_those_of_the_map() -> None:
    assert isinstance(labels_invalid.examine(run(model(), falling(), compared(path="", value=0))), Clear)


def of_one_hot(message: str, function: str = "to_categorical") -> object:
    frames = [lib("keras/src/utils/numerical_utils.py", function, 98)]
    error = ErrorRaised(at=T0 + 5, kind="IndexError", message=message, frames=frames, fatal=True)
    return labels_invalid.examine(journal(started(), inside(), error, ProcessEnded(at=T0 + 6, exit_code=1)))


def test_a_label_that_to_categorical_has_no_place_for() -> None:
    verdict = of_one_hot("index 3 is out of bounds for axis 1 with size 3")
    assert isinstance(verdict, Found)
    assert "A label is class 3, and to_categorical makes vectors for 3 classes, 0 to 2." in verdict.summary
    assert "labels - 1" in verdict.actions[0]
    later = of_one_hot("index 90 is out of bounds for axis 1 with size 80")
    assert isinstance(later, Found)
    assert "annotation file" in later.actions[0]


@pytest.mark.parametrize("function", ["one_hot", "DetectionLoss._onehot", "make_one_hot"])
def test_a_label_that_a_function_for_one_hot_vectors_has_no_place_for(function: str) -> None:
    verdict = of_one_hot("index 10 is out of bounds for dimension 4 with size 6", function)
    assert isinstance(verdict, Found)
    assert f"A label is class 10, and {function.rpartition('.')[2]} makes vectors for 6 classes, 0 to 5." in verdict.summary


def test_a_sequence_that_is_longer_than_its_one_hot_vectors_is_no_label() -> None:
    assert not isinstance(of_one_hot("index 8 is out of bounds for axis 0 with size 8", "one_hot"), Found)


def test_an_index_out_of_bounds_elsewhere_is_no_label() -> None:
    assert not isinstance(of_one_hot("index 10 is out of bounds for dimension 4 with size 6", "gather_boxes"), Found)
    assert not isinstance(of_one_hot("index 3 is out of bounds for axis 1 with size 3", "crop"), Found)


def test_the_ids_of_all_elements_are_told_where_they_are_no_class_numbers() -> None:
    values = (
        {"name": "input", "shape": [4, 5], "dtype": "float32"},
        {"name": "target", "shape": [4], "dtype": "int64", "min": 1, "max": 8},
    )
    numbers = {"part": 1, "name": "self.rows", "key": "category_id", "distinct": [1, 3, 8, 44], "length": 90}
    elements = {
        "what": "elements",
        "name": "Rows.__getitem__",
        "where": f"{FOLDER}/data.py:4",
        "parts": [[]],
        "numbers": [numbers],
    }
    journal_of = ended(
        "IndexError",
        "Target 8 is out of bounds.",
        line("loss = f(x, y)"),
        calls=[call("cross_entropy", *values)],
        makers=[elements],
    )
    verdict = labels_invalid.examine(journal_of)
    assert isinstance(verdict, Found)
    assert "the 90 entries of `self.rows` have under 'category_id': 1, 3, 8, 44" in [each.claim for each in verdict.evidence]
    assert "ids of an annotation file" in verdict.actions[0]
