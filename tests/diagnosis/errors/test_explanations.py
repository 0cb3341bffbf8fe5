"""Errors that are told from the values of the failing line; and those of which nothing more is known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import array, failed, line
from unstall.diagnosis.causes import program_error
from unstall.diagnosis.errors.explanations import Explanation, explain
from unstall.diagnosis.errors.failures import find_failure
from unstall.diagnosis.verdict import Found, LineChange
from unstall.journal.reader import Journal

KERAS = "site-packages/keras/src/trainers/trainer.py"


def explained(journal: Journal) -> Explanation | None:
    failure = find_failure(journal)
    assert failure is not None
    return explain(failure)


def table(name: str, *keys: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "dict", "length": len(keys), "keys": list(keys), "in_failing": True, **more}


def test_a_key_that_is_not_there_with_the_most_similar_one() -> None:
    source = '        if logs["val_acc"] > self.best:'
    found = explained(failed("KeyError", "'val_acc'", line(11, source, table("logs", "loss", "val_accuracy"))))
    assert found is not None
    assert found.said == "`logs` has no key 'val_acc': it has 'loss' and 'val_accuracy'. The most similar one is 'val_accuracy'."
    after = '        if logs["val_accuracy"] > self.best:'
    assert found.changes == (LineChange("train.py:11", (source,), (after,), "if 'val_accuracy' is what is meant"),)


def test_a_key_with_white_space_at_its_end() -> None:
    asked = {"name": "row['label']", "type": "str", "text": "'bus '", "in_failing": True}
    source = 'labels.append(CLASSES[row["label"]])'
    found = explained(failed("KeyError", "'bus '", line(22, source, table("CLASSES", "car", "bus"), asked)))
    assert found is not None
    assert found.said.endswith("'bus' differs from it only by white space at its ends.")
    assert found.changes[0].after == ('labels.append(CLASSES[row["label"].strip()])',)


def test_a_number_that_is_no_key() -> None:
    found = explained(failed("KeyError", "7", line(3, "NAMES[number]", {**table("NAMES"), "keys": [1, 2], "length": 2})))
    assert found is not None
    assert found.said == "`NAMES` has no key 7: it has 1 and 2."
    assert found.actions == ("give `NAMES` the key 7, or ask for one that it has",)


@pytest.mark.parametrize(
    ("kind", "message", "code", "value"),
    [
        ("KeyError", "'resnet'", "model = build(config)", table("config", "name", "depth")),
        ("TypeError", "'NoneType' object is not subscriptable", 'out = transform(image=image)["image"]', {}),
        ("ValueError", "too many values to unpack (expected 2)", "step(batch)", {"name": "batch", "type": "tuple", "length": 3}),
    ],
)
def test_nothing_is_said_of_the_programs_line_where_a_library_that_it_calls_failed(
    kind: str, message: str, code: str, value: dict[str, Any]
) -> None:
    values = [{**value, "in_failing": True, "items": []}] if value else []
    assert explained(failed(kind, message, line(7, code, *values), within="albumentations/core/composition.py")) is None


def test_a_class_that_the_table_lacks_is_corrected_in_the_data_or_added() -> None:
    asked = {"name": "name", "type": "str", "text": "'van'", "in_failing": True}
    found = explained(failed("KeyError", "'van'", line(22, "CLASSES[name]", table("CLASSES", "car", "bus"), asked)))
    assert found is not None
    assert (found.changes, found.actions) == ((), ("correct 'van' in the data (it is `name`), or add it to `CLASSES`",))


@pytest.mark.parametrize(
    ("message", "values"),
    [
        ("'a'", [table("one", "b"), table("other", "c")]),  # either may lack it
        ("'a'", [table("one", "a")]),  # it is there: another dict was meant
        ("'a'", []),
        ("'a'", [{**table("one", "b"), "length": 90}]),  # not all keys are known
        ("no such row: a", [table("one", "b")]),
    ],
)
def test_nothing_is_said_where_it_is_not_known_which_dict_lacks_it(message: str, values: list[dict[str, Any]]) -> None:
    assert explained(failed("KeyError", message, line(3, "one[key]", *values))) is None


def parts(name: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "type": "tuple", "length": len(items), "items": list(items), "in_failing": True}


def test_what_a_train_step_is_given_beside_inputs_and_targets() -> None:
    given = parts("data", array("", [None, 7]), array("", [None, 1]), array("", [None]))
    fit = line(32, "model.fit(x, y, sample_weight=w)")
    step = line(17, "x, y = data", given, function="train_step")
    found = explained(failed("ValueError", "too many values to unpack (expected 2)", fit, step, through=KERAS))
    assert found is not None
    assert found.said.startswith("`data` has 3 parts (")
    assert found.said.endswith("The third is the weights of the examples, which fit was given as sample_weight.")
    assert "unpack_x_y_sample_weight(data)" in found.actions[0]


def test_parts_that_do_not_go_into_so_many_names() -> None:
    given = parts("row", array("", [4, 4]), array("", [4]))
    message = "not enough values to unpack (expected 3, got 2)"
    found = explained(failed("ValueError", message, line(5, "a, b, c = row", given)))
    assert found is not None
    assert found.said == "`row` has 2 parts (float32 array (4, 4); float32 array (4,)), and the line takes 3."
    assert explained(failed("ValueError", message, line(5, "a, b, c = read()"))) is None


def test_a_part_of_the_data_that_no_input_is_called_by() -> None:
    message = (
        "Missing data for input \"meta\". You passed a data dictionary with keys ['image', 'table']. Expected the following "
        "keys: ['image', 'meta']"
    )
    key = {"what": "key", "name": "table", "where": f"{FOLDER}/train.py:12", "first": 12, "source": ['    "table": table,']}
    layer = {
        "what": "layer",
        "name": "meta",
        "class": "InputLayer",
        "where": f"{FOLDER}/train.py:19",
        "first": 19,
        "source": ["x"],
    }
    verdict = program_error.examine(failed("ValueError", message, line(28, "model.fit(data)"), makers=[layer, key]))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:12"
    assert "in the layer" not in verdict.summary  # it is named, and was not called
    assert verdict.summary.endswith("`table`, which is written at train.py:12, is not the name of an input.")
    assert verdict.actions == (
        "if `table` is meant for it, give both one name: 'meta' in the data, or name='table' of the input",
    )


def test_the_ending_of_a_file_name() -> None:
    message = (
        "When using `save_weights_only=True` in `ModelCheckpoint`, the filepath provided must end in `.weights.h5` (Keras weights "
        "format). Received: filepath=/runs/best_{epoch}.h5"
    )
    source = 'ModelCheckpoint(os.path.join(folder, "best_{epoch}.h5"), save_weights_only=True)'
    found = explained(failed("ValueError", message, line(9, source)))
    assert found is not None
    assert found.changes[0].after == (source.replace(".h5", ".weights.h5"),)
    message = "Invalid filepath extension for saving. Please add either a `.keras` extension. Received: filepath=out/model."
    found = explained(failed("ValueError", message, line(9, 'model.save("out/model")')))
    assert found is not None
    assert found.changes[0].after == ('model.save("out/model.keras")',)


def test_the_row_of_a_table_is_told_as_the_element_at_hand() -> None:
    items = [{"type": "str", "text": "'a.png'"}, {"type": "str", "text": "'bus '"}]
    row = {**table("row", "file", "label"), "items": items}
    at = line(22, "CLASSES[row['label']]", loops=[{"line": 20, "source": "for row in rows:", "values": [row]}])
    verdict = program_error.examine(failed("KeyError", "'bus '", at))
    assert isinstance(verdict, Found)
    assert "while `row` = {'file': 'a.png', 'label': 'bus '} was handled" in verdict.summary


def test_the_call_that_gave_none() -> None:
    message = "'NoneType' object has no attribute 'text'"
    found = explained(failed("AttributeError", message, line(17, 'xmax = float(box.find("xmax").text)')))
    assert found is not None
    assert found.said.startswith("`box.find('xmax')` gave None")
    found = explained(failed("AttributeError", message, line(17, "side = box.text")))
    assert found is not None and found.said == "`box` is None there."
    assert explained(failed("AttributeError", message, line(17, "side = a.text + b.text"))) is None
    found = explained(failed("TypeError", "'NoneType' object is not subscriptable", line(17, "side = image[0]")))
    assert found is not None and found.said == "`image` is None there."


def test_a_loss_for_an_output_that_the_model_does_not_have() -> None:
    message = (
        "\"The path: ('box',) in the `loss` argument, can't be found in either the model's output (`y_pred`) or in the labels.\""
    )
    model = {"name": "model", "type": "keras.Functional", "outputs": ["boxes", "classes"], "in_failing": True}
    source = 'model.compile(loss={"box": "mse", "classes": "mse"})'
    compiled = {"what": "compile", "where": f"{FOLDER}/train.py:15", "first": 15, "source": [source]}
    verdict = program_error.examine(failed("KeyError", message, line(18, "model.fit(x, y)", model), makers=[compiled]))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:15"
    assert verdict.summary.endswith("`box` is not the name of an output of `model`: these are `boxes` and `classes`.")
    assert verdict.changes[0].after == (source.replace('"box"', '"boxes"'),)
    known = {**model, "outputs": ["box"]}
    assert explained(failed("KeyError", message, line(18, "model.fit(x, y)", known))) is None


def test_a_callback_that_sets_what_a_schedule_sets() -> None:
    message = (
        "This optimizer was created with a `LearningRateSchedule` object as its `learning_rate` constructor argument, hence its "
        "learning rate is not settable."
    )
    plateau = {"name": "plateau", "type": "keras.ReduceLROnPlateau", "made_at": 11, "made_by": ["plateau = ReduceLROnPlateau()"]}
    verdict = program_error.examine(failed("TypeError", message, line(12, "model.fit(x, callbacks=[plateau])", plateau)))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:11"
    assert "`plateau` is a ReduceLROnPlateau, made at train.py:11, and sets the learning rate" in verdict.summary
    found = explained(failed("TypeError", message, line(12, "model.fit(x)")))
    assert found is not None and found.where is None
