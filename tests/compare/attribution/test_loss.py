"""Which difference explains the loss: by what entered it, and when it parted."""

from __future__ import annotations

from typing import Any

from tests.compare.records import changed, record
from unstall.compare.attribution.explanation import ChannelExplanation
from unstall.compare.comparison import compare_records, describe_answer

STEPS = range(200)


def learning(last: float, first: float = 1.4, **sections: Any) -> dict[str, Any]:
    curve = [[step, first + (last - first) * step / 199] for step in STEPS]
    return changed(record(), figures={"curve": curve, "loss_first": first, "loss_last": last}, **sections)


def names(explained: ChannelExplanation) -> list[str]:
    return [each.difference.name for each in explained.explanations]


def loss_of(after: dict[str, Any]) -> ChannelExplanation:
    return compare_records(learning(0.4), after).of_channel("loss")


def test_the_only_thing_that_enters_the_loss_explains_it() -> None:
    explained = loss_of(learning(3.0, optimizer={"learning_rate": 0.1}))
    assert names(explained) == ["learning_rate"]
    assert explained.explanations[0].how == "measured"


def test_what_cannot_enter_the_loss_explains_nothing_of_it() -> None:
    assert names(loss_of(learning(3.0, machine={"cores": 2}))) == []


def test_a_loss_that_begins_alike_parts_by_how_it_is_learned() -> None:
    explained = loss_of(learning(3.0, optimizer={"learning_rate": 0.1}, loss={"names": ["own"]}))
    assert names(explained)[0] == "learning_rate"


def test_a_loss_that_differs_at_once_is_another_loss() -> None:
    explained = loss_of(learning(30.0, first=60.0, optimizer={"learning_rate": 0.1}, loss={"names": ["own"]}))
    assert names(explained) == ["loss"]
    assert "of another scale" in explained.explanations[0].words


def test_labels_in_the_form_that_another_loss_asks_for_are_its_consequence() -> None:
    number = {"role": "y", "shape": [16], "dtype": "int32"}, {"role": "y", "min": 0.0, "max": 3.0, "distinct": 4}
    ones = {"role": "y", "shape": [16, 4], "dtype": "float32"}, {"role": "y", "min": 0.0, "max": 1.0, "distinct": 2}
    before, after = (
        learning(last, first, batch={"arrays": [array], "values": [values]})
        for last, first, (array, values) in ((0.6, 1.36, number), (0.47, 1.04, ones))
    )
    found = compare_records(before, changed(after, loss={"names": ["categoricalhinge"]}))
    assert [each.name for each in found.differences] == ["loss", "labels"]
    assert names(found.of_channel("loss")) == ["loss"]
    without = compare_records(before, after)  # the same labels for the same loss are the cause
    assert names(without.of_channel("loss")) == ["labels"]


def test_a_loss_in_whose_place_nothing_learns_any_more_is_not_the_only_cause() -> None:
    risen = learning(9.0, first=1.4, optimizer={"learning_rate": 10.0}, loss={"names": ["own"]})
    assert names(loss_of(risen)) == ["learning_rate", "loss"]


def test_the_rate_of_another_optimizer_is_of_another_scale() -> None:
    explained = loss_of(learning(0.2, optimizer={"class": "Lion", "learning_rate": 0.1}))
    assert names(explained) == ["optimizer", "learning_rate"]


def test_a_loss_that_is_no_number_any_more_is_explained() -> None:
    broken = changed(learning(0.5, optimizer={"learning_rate": 10.0}), figures={"not_finite_since_step": 12})
    explained = compare_records(learning(0.4), broken).of_channel("loss")
    assert names(explained) == ["learning_rate"]


def test_within_noise_nothing_is_claimed() -> None:
    assert names(loss_of(learning(0.41, optimizer={"learning_rate": 0.0011}))) == []


def test_a_run_that_told_hardly_any_loss_is_not_compared_at_another_step() -> None:
    short = changed(learning(0.4, optimizer={"learning_rate": 0.1}), figures={"curve": [[0, 1.4]]})
    assert names(loss_of(short)) == []


def uneven_ends(last: float, first: float, **sections: Any) -> dict[str, Any]:
    """Few losses were told, and the last of them differ widely: where the loss ended is not sure, where it began is."""
    curve = [[step, first] for step in range(8)] + [[249, 20 * last], [499, last]]
    return changed(record(), figures={"curve": curve, "loss_first": first, "loss_last": last}, **sections)


def test_another_loss_function_explains_losses_that_began_on_two_scales_and_ended_alike() -> None:
    before, after = uneven_ends(0.12, 291.0), uneven_ends(0.13, 17.0, loss={"names": ["meanabsoluteerror"]})
    comparison = compare_records(before, after)
    assert not comparison.moved["loss"].is_clear and comparison.moved["first loss"].is_clear
    (only,) = comparison.of_channel("loss").explanations
    assert (only.difference.name, only.how) == ("loss", "measured")
    assert "of another scale" in only.words


def test_beside_a_figure_that_moved_it_is_never_said_that_nothing_did() -> None:
    before, after = uneven_ends(0.12, 291.0), uneven_ends(0.13, 17.0, optimizer={"learning_rate": 0.1})
    (line,) = describe_answer(compare_records(before, after))
    assert line == "not explained: first loss 291 → 17; it may be: learning rate 0.001 → 0.1"
    (line,) = describe_answer(compare_records(before, uneven_ends(0.13, 17.0, machine={"cores": 2})))
    assert line.endswith("nothing that differs is known to be the cause")


def test_changes_of_which_nothing_tells_the_share_get_no_number_of_their_own() -> None:
    before, after = (
        learning(0.8),
        learning(0.1, optimizer={"learning_rate": 0.1}, run={"command": ["python", "train.py", "--die"]}),
    )
    explained = compare_records(before, after).of_channel("loss")
    assert names(explained) == ["learning_rate", "command"]
    words = {each.words for each in explained.explanations}
    assert len(words) == 1, "the same for both: the whole change"
    assert "by this or others (cannot be told apart)" in words.pop()
    assert {(each.as_plain()["amount"], each.as_plain()["share"]) for each in explained.explanations} == {(None, None)}
    (only,) = compare_records(before, learning(0.1, optimizer={"learning_rate": 0.1})).of_channel("loss").explanations
    assert only.as_plain()["amount"] < 0 and "apart" not in only.words
