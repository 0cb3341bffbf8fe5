"""program_error: what is true of every error that ends a program, and what is no error."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, lib, py, started
from unstall.diagnosis.causes import program_error
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import (
    ErrorInspected,
    ErrorRaised,
    Event,
    ExitCalled,
    FrameworkLoaded,
    ProcessEnded,
    ProgramStarted,
    RunStarted,
)

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)
LOADED = (ProgramStarted(at=T0 + 1, pid=1), FrameworkLoaded(at=T0 + 1, name="torch", version="2.13"))
MESSAGE = "operands could not be broadcast together with shapes (1,3) (4,)"
FRAMES = [py("boxes.py", "scale", 12), py("train.py", "<module>", 40)]


def raised(kind: str = "ValueError", message: str = MESSAGE, **more: Any) -> ErrorRaised:
    return ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=more.pop("frames", FRAMES), **{"fatal": True, **more})


def array(name: str, shape: list[int], **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "numpy.ndarray", "shape": shape, "dtype": "float32", "in_failing": True, **more}


def line(file: str, number: int, function: str, source: str, **more: Any) -> dict[str, Any]:
    return {"file": f"{FOLDER}/{file}", "line": number, "function": function, "first": number, "source": [source], **more}


def inspected(*lines: dict[str, Any], **more: Any) -> ErrorInspected:
    return ErrorInspected(at=T0 + 9.1, error_at=T0 + 9, lines=list(lines), **more)


def examined(*events: Event, end: Event = CRASHED) -> Any:
    return program_error.examine(journal(started(), *LOADED, *events, end))


def test_found_with_the_line_its_values_and_the_element() -> None:
    name = {"name": "name", "type": "str", "text": "'017.jpg'", "length": 7}
    verdict = examined(
        raised(),
        inspected(
            line("train.py", 40, "<module>", "t = scale(boxes)", loops=[{"line": 38, "source": "for name in names:", "values": [name]}]),
            line(
                "boxes.py", 12, "scale", "    return rows * whole",
                values=[array("rows", [1, 3], made_at=10, made_by=["    rows = np.array(boxes)"]), array("whole", [4])],
            ),
        ),
    )  # fmt: skip
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "boxes.py:12"
    assert verdict.summary == (
        f"ValueError: {MESSAGE}. It was raised at boxes.py:12 in scale while `name` = '017.jpg' was handled."
    )
    claims = [evidence.claim for evidence in verdict.evidence]
    assert claims == [
        "boxes.py:12 in scale: return rows * whole, with `rows`: float32 array (1, 3), `whole`: float32 array (4,)",
        "`rows` was given its value at boxes.py:10: rows = np.array(boxes)",
        "called from train.py:40: t = scale(boxes)",
    ]
    assert verdict.actions[-1] == "run the line with this element alone: `name` = '017.jpg'"


def test_found_from_the_frames_alone_in_the_journal_of_an_earlier_version() -> None:
    verdict = examined(raised())
    assert isinstance(verdict, Found)
    assert verdict.where == "boxes.py:12"
    assert [evidence.claim for evidence in verdict.evidence] == ["boxes.py:12 in scale", "called from train.py:40"]


def test_found_without_a_line_of_the_programs_own() -> None:
    verdict = examined(raised(frames=[lib("torch/serialization.py", "load", 9)]))
    assert isinstance(verdict, Found)
    assert verdict.where is None
    assert "No line of the program's own" in verdict.summary


def test_the_layer_and_the_line_that_made_it_are_told() -> None:
    layer = {
        "what": "layer", "name": "features.3", "class": "Linear", "options": {"in_features": 100},
        "where": f"{FOLDER}/model.py:10", "first": 8, "source": ["self.features = Sequential(", "Flatten(),", "Linear(100, 10))"],
    }  # fmt: skip
    verdict = examined(raised("RuntimeError", "mat1 and mat2"), inspected(line("a.py", 3, "f", "f(x)"), makers=[layer]))
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith(
        "at a.py:3 in f, in the layer features.3 (Linear, in_features=100), which was made at model.py:10."
    )


def test_an_error_that_a_generator_raised_is_shown_from_the_generator() -> None:
    quoted = (
        "UnknownError: {{function_node __wrapped__IteratorGetNext_output_types_1}} KeyError: 'bird'\n"
        f"Traceback (most recent call last):\n  File \"{FOLDER}/data.py\", line 7, in rows\n    yield LABELS[name]\nKeyError: 'bird'\n"
    )
    verdict = examined(raised("tensorflow.UnknownError", quoted))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:7"
    assert verdict.summary == "KeyError: 'bird'. It was raised at data.py:7 in rows."


def test_an_error_that_was_caught_before_the_program_ended_itself_is_shown() -> None:
    exited = ExitCalled(at=T0 + 9, exit_code=3, where=f"{FOLDER}/train.py:50", error_at=T0 + 9)
    verdict = examined(raised(fatal=False, caught=True), exited, end=ProcessEnded(at=T0 + 10, exit_code=3))
    assert isinstance(verdict, Found)
    assert "The program caught this error and ended itself at train.py:50 with exit code 3." in verdict.summary


@pytest.mark.parametrize(
    "events",
    [
        (raised(fatal=False, caught=True), ExitCalled(at=T0 + 9, exit_code=3, error_at=None)),  # it was over by then
        (raised(fatal=False, caught=True, own_class=True), ExitCalled(at=T0 + 9, exit_code=3, error_at=T0 + 9)),
        (raised("KeyboardInterrupt", "", fatal=False, caught=True), ExitCalled(at=T0 + 9, exit_code=3, error_at=T0 + 9)),
        (raised(fatal=False, thread="loader"), ExitCalled(at=T0 + 9.5, exit_code=3)),
    ],
    ids=["none handled", "a class of its own", "interrupted", "of a thread"],
)
def test_clear_where_the_program_ended_itself(events: tuple[Event, ...]) -> None:
    assert isinstance(examined(*events, end=ProcessEnded(at=T0 + 10, exit_code=3)), Clear)


def test_clear_where_the_program_went_on_and_ended_well() -> None:
    assert isinstance(examined(raised(), end=ProcessEnded(at=T0 + 10, exit_code=0)), Clear)


def test_clear_for_ctrl_c() -> None:
    assert isinstance(examined(raised("KeyboardInterrupt", "")), Clear)


def test_clear_while_the_error_may_still_be_handled() -> None:
    assert isinstance(program_error.examine(journal(started(), *LOADED, raised(), now=10)), Clear)
    assert isinstance(program_error.examine(journal(started(), *LOADED, raised(), now=60)), Found)  # in a notebook, say


def test_clear_for_our_own_trainer_which_says_itself_why_it_ended() -> None:
    train = RunStarted(at=T0, mode="train", command=["unstall", "train"], folder=FOLDER, pid=1)
    assert isinstance(program_error.examine(journal(train, *LOADED, raised(), CRASHED)), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(program_error.examine(journal(started(), CRASHED)), Unknown)


def test_it_gives_way_to_a_cause_that_explains_the_end() -> None:
    missing = raised("FileNotFoundError", "[Errno 2] No such file or directory: '/data/train.csv'")
    narrow = diagnose(journal(started(), *LOADED, missing, CRASHED))
    assert [finding.cause for finding in narrow.findings] == ["path_missing"]
    assert "program_error" in narrow.clear
    wide = diagnose(journal(started(), *LOADED, raised("RuntimeError", "the controller refused the request"), CRASHED))
    assert [finding.cause for finding in wide.findings] == ["program_error"]


def test_a_function_that_a_library_calls_wrongly_is_the_place() -> None:
    message = "main.<locals>.<lambda>() takes 1 positional argument but 2 were given"
    called = {
        "what": "called", "name": "on_epoch_end", "where": f"{FOLDER}/train.py:52", "takes": ["logs"],
        "call": "callback.on_epoch_end(epoch, logs)",
    }  # fmt: skip
    seen = inspected(line("train.py", 55, "main", "model.fit(x)"), makers=[called])
    verdict = examined(raised("TypeError", message), seen)
    assert verdict.where == "train.py:52"
    assert "`on_epoch_end` is the function at train.py:52, which takes (logs)" in verdict.summary
    assert verdict.actions[0] == "let the function at train.py:52 take (epoch, logs)"
    called.update(
        {
            "first": 50,
            "source": ["dashboard = Callback(", "    on_begin=lambda logs: 1,", "    on_epoch_end=lambda logs: 2,", ")"],
        }
    )
    verdict = examined(raised("TypeError", message), inspected(line("train.py", 55, "main", "model.fit(x)"), makers=[called]))
    assert (verdict.changes[0].where, verdict.changes[0].after) == ("train.py:52", ("    on_epoch_end=lambda epoch, logs: 2,",))


@pytest.mark.parametrize("has_own", [True, False])
def test_a_class_that_cannot_be_made_again_from_its_configuration(has_own: bool) -> None:
    message = (
        "<class 'Functional'> could not be deserialized properly. Please ensure that they are.\n\nconfig={'a': 1}\n\n"
        "Exception encountered: Pool.__init__() missing 1 required positional argument: 'heat'"
    )
    made = {
        "what": "configuration", "name": "Pool", "where": f"{FOLDER}/pool.py:25", "missing": ["heat"], "has_own": has_own,
        "lines": [{"where": f"{FOLDER}/pool.py:26", "source": "return {'units': 3}"}] if has_own else [],
    }  # fmt: skip
    layer = {
        "what": "layer",
        "class": "Pool",
        "name": "pool",
        "where": f"{FOLDER}/model.py:3",
        "first": 3,
        "source": ["x = Pool(3, 2)(x)"],
    }
    seen = inspected(line("train.py", 42, "load", "model = load_model(path)"), makers=[layer, made])
    verdict = examined(raised("TypeError", message), seen)
    assert verdict.where == "pool.py:25"
    assert verdict.summary.startswith("TypeError: Pool.__init__() missing 1 required positional argument: 'heat'.")
    assert ("which Pool.get_config at pool.py:25 does not give" in verdict.summary) is has_own
    assert "model.py:3" not in " ".join([verdict.summary, *verdict.actions])


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ("((8, 960) vs (8, 1280))", "960 is 3 x 320, and 1,280 is 4 x 320: as if for each of 320 places"),
        ("((8, 960) vs (8, 961))", ""),
        ("((8, 96) vs (8, 32))", ""),  # one is a multiple of the other: that has other reasons
        ("((4, 960) vs (8, 1280))", ""),
    ],
)
def test_counts_that_differ_for_each_of_many_places(shapes: str, said: str) -> None:
    verdict = examined(
        raised("ValueError", f"must have the same shape, received {shapes}"), inspected(line("a.py", 1, "f", "g(x)"))
    )
    assert (said in verdict.summary) if said else ("as if for each" not in verdict.summary)


def test_an_error_in_a_loss_of_the_programs_own_shows_the_last_layers() -> None:
    last = {
        "what": "output",
        "class": "Conv2D",
        "name": "head",
        "where": f"{FOLDER}/ssd.py:17",
        "first": 17,
        "source": ["x = Conv2D(9, 3)(x)"],
    }
    seen = inspected(line("ssd.py", 24, "ssd_loss", "return y_true - y_pred"), makers=[last])
    verdict = examined(raised(), seen)
    claims = [each.claim for each in verdict.evidence]
    assert "the last layers of the model: head (Conv2D) made at ssd.py:17: x = Conv2D(9, 3)(x)" in claims
