"""batch_ragged: which part of the elements has no common shape, which line put them together, and the change of that line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, py, started
from unstall.diagnosis.causes import batch_ragged
from unstall.diagnosis.verdict import Clear, Found, LineChange, Unknown
from unstall.journal.events import ErrorInspected, ErrorRaised, FrameworkLoaded, ProcessEnded, ProgramStarted

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)
OF_TF = "tensorflow.python.framework.errors_impl.InvalidArgumentError"
ADDED = (
    "{{function_node __wrapped__IteratorGetNext_output_types_2_device_/job:localhost/replica:0/task:0/device:CPU:0}} "
    "Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: [2,4], [batch]: [1,4] "
    "[Op:IteratorGetNext] name: "
)
IN_FIT = (
    "Graph execution error:\n\nDetected at node IteratorGetNext defined at (most recent call last):\n<stack traces unavailable>\n"
    "Cannot batch tensors with different shapes in component 1. First element had shape [1,4] and element 3 had shape [2,4].\n"
    "\t [[{{node IteratorGetNext}}]] [Op:__inference_multi_step_on_iterator_1145]"
)
COLLATED = "stack expects each tensor to be equal size, but got [1, 4] at entry 0 and [2, 4] at entry 1"


def components(boxes: list[int | None]) -> list[dict[str, Any]]:
    return [{"name": "image", "shape": [16, 16, 3], "dtype": "float32"}, {"name": "boxes", "shape": boxes, "dtype": "float32"}]


def pipeline(batch: str = "    dataset = dataset.batch(16)", boxes: list[int | None] | None = None) -> dict[str, Any]:
    def stage(name: str, kind: str, line: int, source: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
        where = f"{FOLDER}/train.py:{line}"
        arguments = {"function": "load"} if kind == "map" else {}
        return {
            "name": name, "stage": kind, "where": where, "first": line, "source": [source], "components": parts,
            "arguments": arguments,
        }  # fmt: skip

    parts = components([None, 4] if boxes is None else boxes)
    return {
        "role": "train",
        "stages": [
            stage("Range", "range", 20, "dataset = Dataset.range(8)", []),
            stage("Map", "map", 21, "dataset = dataset.map(load)", parts),
            stage("Batch", "batch", 22, batch, parts),
            {"name": "Prefetch", "does": []},
        ],
    }


def examined(kind: str, message: str, *lines: dict[str, Any], **seen: Any) -> Any:
    error = ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=[py("train.py", "<module>", 43)], fatal=True)
    row = {"file": f"{FOLDER}/train.py", "line": 43, "function": "<module>", "first": 43, "source": ["for batch in dataset:"]}
    event = ErrorInspected(at=T0 + 9, error_at=T0 + 9, lines=list(lines) or [row], **seen)
    loaded = (ProgramStarted(at=T0 + 1, pid=1), FrameworkLoaded(at=T0 + 1, name="torch"))
    return batch_ragged.examine(journal(started(), *loaded, error, event, CRASHED))


@pytest.mark.parametrize("message", [ADDED, IN_FIT], ids=["in a loop", "in fit"])
def test_found_in_a_tf_data_set_with_the_part_the_stage_and_the_change(message: str) -> None:
    verdict = examined(OF_TF, message, pipelines=[pipeline()])
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:22"
    assert "`boxes` has the shape (1, 4) in the first element" in verdict.summary
    assert verdict.summary.endswith("another has (2, 4). The number of rows differs between the elements.")
    claims = [evidence.claim for evidence in verdict.evidence]
    assert claims[0] == "raised by .batch(16) at train.py:22, for the batch fetched at train.py:43"
    assert claims[1] == "the elements come from map(load) at train.py:21"
    before = ("    dataset = dataset.batch(16)",)
    assert verdict.changes[0] == LineChange(
        "train.py:22", before, ("    dataset = dataset.padded_batch(16)",), batch_ragged._ANY_NUMBER
    )
    assert verdict.changes[1].after == ("    dataset = dataset.ragged_batch(16)",)


@pytest.mark.parametrize(
    "code", ["dataset.batch(16, True)", "dataset.batch(16, num_parallel_calls=4)", "a.batch(2).batch(3)", "dataset.batch(16,"]
)
def test_no_change_is_written_where_the_arguments_may_mean_something_else(code: str) -> None:
    verdict = examined(OF_TF, ADDED, pipelines=[pipeline(code)])
    assert isinstance(verdict, Found)
    assert verdict.changes == ()
    assert verdict.actions[0].startswith("use padded_batch")


def test_images_are_to_be_resized_and_not_padded() -> None:
    message = ADDED.replace("[2,4]", "[24,32,3]").replace("[1,4]", "[24,24,3]")
    verdict = examined(OF_TF, message, pipelines=[pipeline(boxes=[None, None, 3])])
    assert isinstance(verdict, Found)
    assert verdict.changes == ()
    assert verdict.actions[0].startswith("resize the images")


def test_found_without_a_pipeline_that_could_be_read() -> None:
    verdict = examined(OF_TF, ADDED)
    assert isinstance(verdict, Found)
    assert (verdict.where, verdict.changes) == ("train.py:43", ())


def loader_line(made_by: str = "loader = DataLoader(Rows(), batch_size=4)") -> dict[str, Any]:
    loader = {"name": "loader", "type": "torch.DataLoader", "in_failing": True, "made_at": 30, "made_by": [made_by]}
    source = ["for batch in loader:"]
    return {"file": f"{FOLDER}/train.py", "line": 43, "function": "main", "first": 43, "source": source, "values": [loader]}


def element(kind: str, boxes: int) -> dict[str, Any]:
    items = [
        {"type": "torch.Tensor", "shape": [3, 8, 8], "dtype": "float32"},
        {"type": "torch.Tensor", "shape": [boxes, 4], "dtype": "float32"},
    ]
    return {"type": kind, "length": 2, "items": items, **({"keys": ["image", "boxes"]} if kind == "dict" else {})}


@pytest.mark.parametrize(
    ("kind", "name", "keeps"), [("dict", "boxes", "list"), ("tuple", "part 1", "lambda batch: tuple(zip(*batch))")]
)
def test_found_in_a_data_loader_with_the_part_and_the_change(kind: str, name: str, keeps: str) -> None:
    batch = {"name": "batch", "type": "list", "length": 4, "items": [element(kind, 1), element(kind, 1), element(kind, 2)]}
    calls = [{"file": "collate.py", "line": 1, "function": "default_collate", "values": [batch]}]
    verdict = examined("RuntimeError", COLLATED, loader_line(), calls=calls)
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:30"
    assert f"`{name}` has the shape (1, 4) in the first element of the batch, and element 2 has (2, 4)." in verdict.summary
    assert verdict.changes[0].after == (f"loader = DataLoader(Rows(), batch_size=4, collate_fn={keeps})",)


@pytest.mark.parametrize("code", ["loader = DataLoader(rows, collate_fn=join)", "loader = DataLoader("])
def test_no_collate_fn_is_written_where_it_is_not_sure_that_it_fits(code: str) -> None:
    batch = {"name": "batch", "type": "list", "length": 2, "items": [element("dict", 1), element("dict", 2)]}
    calls = [{"file": "collate.py", "line": 1, "function": "default_collate", "values": [batch]}]
    verdict = examined("RuntimeError", COLLATED, loader_line(code), calls=calls)
    assert isinstance(verdict, Found)
    assert verdict.changes == ()


def test_found_in_a_worker_process_of_a_loader() -> None:
    message = f"Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n  File \"/x/site-packages/torch/utils/data/_utils/collate.py\", line 9, in default_collate\n    return collate(batch)\nRuntimeError: {COLLATED}\n"  # fmt: skip
    verdict = examined("RuntimeError", message, loader_line())
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:30"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ValueError", "all input arrays must have the same shape"),
        ("ValueError", "All input arrays must have the same shape. Got (2, 4), (5, 4)."),
        (OF_TF, "{{function_node __wrapped__Pack_N_2}} Shapes of all inputs must match: values[0].shape = [2,4] != values[1].shape = [5,4] [Op:Pack] name: stack"),
        ("ValueError", "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part."),
        ("RuntimeError", "stack expects each tensor to be equal size, but got [2, 4] at entry 0 and [5, 4] at entry 1"),
    ],
)  # fmt: skip
def test_found_in_a_stack_of_the_programs_own(kind: str, message: str) -> None:
    rows = [{"shape": [2, 4], "first": 0, "count": 2}, {"shape": [5, 4], "first": 2, "count": 1}]
    boxes = {"name": "boxes", "type": "list", "length": 3, "shapes": rows, "in_failing": True}
    line = {
        "file": f"{FOLDER}/data.py",
        "line": 9,
        "function": "join",
        "first": 9,
        "source": ["np.stack(boxes)"],
        "values": [boxes],
    }
    verdict = examined(kind, message, line)
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:9"
    assert "Element 2 of `boxes` has the shape (5, 4), and 2 more have (2, 4)." in verdict.summary


def test_of_lists_with_several_shapes_each_is_told_with_its_first_element() -> None:
    rows = [
        {"shape": [3, 4], "first": 0, "count": 2},
        {"shape": [2, 4], "first": 1, "count": 1},
        {"shape": [1, 4], "first": 3, "count": 1},
    ]
    boxes = {"name": "boxes", "type": "list", "length": 4, "shapes": rows, "in_failing": True}
    line = {
        "file": f"{FOLDER}/data.py", "line": 9, "function": "join", "first": 9, "source": ["np.array(boxes)"], "values": [boxes],
    }  # fmt: skip
    message = "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions."
    verdict = examined("ValueError", message, line)
    assert isinstance(verdict, Found)
    assert (
        "The 4 elements of `boxes` have different shapes: (3, 4) (element 0), (2, 4) (element 1), (1, 4) (element 3). "
        "The number of rows differs between the elements." in verdict.summary
    )


@pytest.mark.parametrize("message", ["mat1 and mat2 shapes cannot be multiplied (4x8 and 9x1)", "'boxes'", ""])
def test_clear_where_the_error_is_about_something_else(message: str) -> None:
    assert isinstance(examined("RuntimeError", message), Clear)


def test_clear_where_an_array_is_assigned_and_no_batch_is_made() -> None:
    assert isinstance(examined("ValueError", "could not broadcast input array from shape (3,) into shape (4,)"), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(batch_ragged.examine(journal(started(), CRASHED)), Unknown)


def test_a_part_without_a_name_is_counted() -> None:
    given = pipeline()
    for stage_row in given["stages"][1:3]:
        stage_row["components"] = [{**part, "name": str(at)} for at, part in enumerate(stage_row["components"])]
    verdict = examined(OF_TF, ADDED, pipelines=[given])
    assert isinstance(verdict, Found)
    assert "Part 2 of an element has the shape (1, 4) in the first element" in verdict.summary


def test_a_part_is_called_as_the_function_calls_it_that_gives_the_elements_and_padded_to_a_fixed_number() -> None:
    given = pipeline()
    for stage_row in given["stages"][1:3]:
        stage_row["components"] = [{**part, "name": str(at)} for at, part in enumerate(stage_row["components"])]
    given["stages"][1]["returns"] = ["picture", "corners"]
    verdict = examined(OF_TF, ADDED, pipelines=[given])
    assert isinstance(verdict, Found)
    assert "`corners`, part 2 of an element, has the shape (1, 4) in the first element" in verdict.summary
    assert any("padded_shapes=([16, 16, 3], [N, 4])" in action for action in verdict.actions)


def seen_batch(*shapes: tuple[list[int], int, int], **more: Any) -> dict[str, Any]:
    rows = [{"shape": shape, "first": first, "count": count} for shape, first, count in shapes]
    return {"what": "batch", "name": "", "count": 8, "parts": [{"name": "0", "shapes": rows}], **more}


def test_the_odd_element_of_a_loader_is_told_with_its_file() -> None:
    source = {"name": "self.items[61]", "type": "str", "text": "'a/b.png'"}
    batch = seen_batch(([3, 48, 48], 0, 7), ([4, 48, 48], 5, 1), index=61, **{"from": source})
    verdict = examined("RuntimeError", "Trying to resize storage that is not resizable", loader_line(), makers=[batch])
    assert isinstance(verdict, Found)
    assert (
        "Part 1 of an element has the shape (4, 48, 48) in element 5 of the batch, and (3, 48, 48) in 7 more." in verdict.summary
    )
    assert "3 channels are RGB and 4 channels are RGBA" in verdict.summary
    assert "That is element 61 of the data set, made from `self.items[61]`: 'a/b.png'. In an image, " in verdict.summary
    assert verdict.actions[0].endswith('Image.open(path).convert("RGB")') and len(verdict.actions) == 1


def test_what_the_odd_element_of_a_list_was_made_from_is_told() -> None:
    source = {"name": "paths[2]", "type": "str", "text": "'a/c.png'"}
    images = {
        "name": "images", "type": "list", "length": 3, "in_failing": True, "from": source,
        "shapes": [{"shape": [4, 4, 3], "first": 0, "count": 2}, {"shape": [4, 4], "first": 2, "count": 1}],
    }  # fmt: skip
    row = {
        "file": f"{FOLDER}/data.py",
        "line": 9,
        "function": "join",
        "first": 9,
        "source": ["np.stack(images)"],
        "values": [images],
    }
    verdict = examined("ValueError", "all input arrays must have the same shape", row)
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("It was made from `paths[2]`: 'a/c.png'.")
