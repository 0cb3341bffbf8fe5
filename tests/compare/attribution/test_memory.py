"""Which difference explains how much of the memory: one change at a time, on the scale of what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compare.records import MIB, changed, record
from unstall.compare.attribution.explanation import ChannelExplanation, format_range
from unstall.compare.attribution.memory import BEYOND_PLAN
from unstall.compare.comparison import Comparison, compare_records

ACTIVATIONS = 64.0  # MiB, of the two large layers of a record, at a batch of 16


def memory_of(before: dict[str, Any], after: dict[str, Any]) -> ChannelExplanation:
    return compare_records(before, after).of_channel("memory")


def shown_by_steps(mib: float, **others: Any) -> dict[str, Any]:
    """A run whose steps hold so much one after the other."""
    return changed(record(peak_mib=mib, **others), figures={"host_typical_bytes": mib * MIB, "host_uncertainty_bytes": 2 * MIB})


def amounts(explained: ChannelExplanation) -> dict[str, float]:
    """In MiB."""
    return {each.difference.name: each.amount / MIB for each in explained.explanations}


def test_the_only_change_explains_all_that_was_measured() -> None:
    explained = memory_of(record(), record(batch=32, peak_mib=1000))
    assert amounts(explained) == {"batch": pytest.approx(100)}
    assert explained.explanations[0].how == "measured"
    assert not explained.left_words


def test_an_amount_that_may_be_wrong_by_more_than_a_tenth_is_told_as_from_where_to_where() -> None:
    one_peak_each = memory_of(record(), record(batch=32, peak_mib=1000)).explanations[0]
    assert one_peak_each.description == "batch 16 → 32: +50 to +150 MiB"
    assert [each / MIB for each in one_peak_each.as_plain()["range"]] == pytest.approx([50, 150])
    by_steps = memory_of(shown_by_steps(900), shown_by_steps(1000, batch=32)).explanations[0]
    assert by_steps.description == "batch 16 → 32: +100 MiB"
    assert by_steps.as_plain()["range"] is None


def test_an_amount_that_chance_may_be_nearly_all_of_is_told_as_the_most_that_it_is() -> None:
    assert format_range(0.2 * MIB, 50 * MIB) == "up to +50 MiB"
    assert format_range(-1.5 * 1024 * MIB, -2 * 1024 * MIB) == "−1.5 to −2.0 GiB"


def test_several_changes_share_what_was_measured_by_what_each_does_alone() -> None:
    # 64 MiB of activations; 1.5 copies: +96 MiB by the batch alone, +48 by the filters, and 48 only by both
    explained = memory_of(record(), record(batch=32, filters=48, peak_mib=900 + 96 + 48 + 48))
    found = amounts(explained)
    assert list(found) == ["batch", "filters"]  # the most first
    assert found["batch"] == pytest.approx(96, rel=0.1)
    assert found["filters"] == pytest.approx(48, rel=0.1)
    assert explained.together / MIB == pytest.approx(48, rel=0.1)


def test_an_optimizer_is_told_apart_from_a_batch_by_the_size_of_the_model() -> None:
    wide = {"parameters": 40_000_000, "layers": [{**each, "parameters": 10_000_000} for each in record()["model"]["layers"]]}
    sgd = {"class": "SGD", "momentum": 0.0}
    before = record(model=wide, optimizer=sgd, peak_mib=1100)
    slots = 2 * 4 * 40_000_000 / MIB  # Adam's
    after = changed(record(batch=32, peak_mib=1100 + slots + 100), optimizer={"class": "Adam"})
    after = changed(
        after,
        model={"parameters": 40_000_000, "layers": [{**each, "parameters": 10_000_000} for each in after["model"]["layers"]]},
    )
    found = amounts(memory_of(before, after))
    assert list(found) == ["optimizer", "batch"]
    assert found["optimizer"] == pytest.approx(slots, rel=0.1)
    assert found["batch"] == pytest.approx(100, rel=0.4)


def test_within_noise_nothing_is_claimed() -> None:
    assert memory_of(record(), record(batch=17, peak_mib=905)).explanations == ()


def test_what_no_difference_explains_is_left_and_said() -> None:
    explained = memory_of(record(), record(batch=17, peak_mib=3000))
    assert explained.left / MIB > 1500
    assert "none of it explains" in explained.left_words


def test_what_is_left_goes_to_the_one_change_of_which_nothing_is_known() -> None:
    explained = memory_of(record(), record(versions={"picturekit": "2.0.0"}, peak_mib=1400))
    assert amounts(explained) == {"version": pytest.approx(500)}


def test_identical_runs_have_no_cause_whatever_memory_did() -> None:
    comparison = compare_records(record(), record(peak_mib=2000))
    assert comparison.differences == ()
    assert comparison.explanations == []


def killed(batch: int = 16, **sections: Any) -> dict[str, Any]:
    plain = record(batch=batch, peak_mib=950, run={"outcome": "failed", "cause": "host_memory_exhausted"})
    return changed(plain, **sections)


def test_a_run_that_died_is_explained_by_what_it_would_have_needed() -> None:
    explained = memory_of(record(peak_mib=790), killed(batch=64))
    # at its peak the older run held 170 MiB beyond what it had before and its compiler; four times the images: three times as much more
    assert amounts(explained)["batch"] == pytest.approx(3 * 170, rel=0.15)
    assert explained.explanations[0].how == "by arithmetic"


def test_room_that_others_took_is_told_where_a_run_died_of_it() -> None:
    before = record(machine={"available_bytes": 8000 * MIB})
    after = killed(machine={"available_bytes": 700 * MIB})
    comparison = compare_records(before, after)
    assert comparison.differences[0].name == "foreign"
    assert [each.words for each in comparison.of_channel("free").explanations] == ["−7.13 GiB free"]


def test_room_that_others_took_is_nothing_where_the_run_was_well() -> None:
    before, after = record(machine={"available_bytes": 60_000 * MIB}), record(machine={"available_bytes": 9000 * MIB})
    assert compare_records(before, after).differences == ()


def test_a_plan_says_what_each_change_adds() -> None:
    before = shown_by_steps(900, settings={"batch_size": 16, "optimizer": "sgd"})
    after = shown_by_steps(1300, settings={"batch_size": 32, "optimizer": "adamw"})
    plan = {"batch": 200.0 * MIB, "optimizer": 50.0 * MIB, "": 250.0 * MIB}
    comparison: Comparison = compare_records(before, after, lambda _: plan)
    found = comparison.of_channel("memory")
    assert amounts(found) == {"batch": pytest.approx(320, 0.01), "optimizer": pytest.approx(80, 0.01)}  # of the 400 measured
    assert {each.how for each in found.explanations} == {"planned"}


def test_of_two_changes_the_smaller_is_unsure_by_what_the_larger_may_have_too_much() -> None:
    before = shown_by_steps(900, settings={"batch_size": 16, "optimizer": "sgd"})
    after = shown_by_steps(1300, settings={"batch_size": 32, "optimizer": "adamw"})
    plan = {"batch": 256.0 * MIB, "optimizer": 16.0 * MIB, "": 272.0 * MIB}
    larger, smaller = compare_records(before, after, lambda _: plan).of_channel("memory").explanations
    assert larger.unsure / larger.amount < 0.2 < smaller.unsure / smaller.amount


def test_a_plan_that_agrees_with_what_was_measured_steadies_it() -> None:
    """Peaks of the same run differ by some 50 MiB: of a change of 150 that is a third, and a plan is surer than that."""
    before = record(settings={"batch_size": 16})
    for measured in (126, 150, 174):
        after = record(settings={"batch_size": 32}, peak_mib=900 + measured)
        found = compare_records(before, after, lambda _: {"batch": 150.0 * MIB / BEYOND_PLAN}).of_channel("memory")
        assert amounts(found) == {"batch": pytest.approx(150, rel=0.07)}
        assert not found.left_words


def test_a_plan_that_does_not_agree_gives_way_to_what_was_measured() -> None:
    before, after = shown_by_steps(900, settings={"batch_size": 16}), shown_by_steps(1140, settings={"batch_size": 32})
    found = compare_records(before, after, lambda _: {"batch": 100.0 * MIB}).of_channel("memory")
    assert amounts(found) == {"batch": pytest.approx(240)}


def test_what_a_kernel_makes_of_another_precision_is_taken_as_it_was_measured() -> None:
    explained = memory_of(record(), record(model={"precision": "mixed_bfloat16"}, peak_mib=980))  # some machines widen it again
    assert amounts(explained) == {"precision": pytest.approx(80)}
    assert not explained.left_words


def unknown_layers(batch: int, peak_mib: float, **sections: Any) -> dict[str, Any]:
    """As of a model class of one's own, of which Keras knows the parts and not what they give."""
    plain = record(batch=batch, peak_mib=peak_mib, **sections)
    bare = [{**each, "output_shape": None, "activation_bytes": None} for each in plain["model"]["layers"]]
    return changed(plain, model={"layers": bare})


def test_layers_that_are_not_known_do_not_bound_what_a_batch_can_do() -> None:
    assert amounts(memory_of(unknown_layers(16, 900), unknown_layers(32, 1300))) == {"batch": pytest.approx(400)}


def test_of_layers_that_are_not_known_a_run_that_died_is_explained_by_what_it_held_before() -> None:
    died = changed(unknown_layers(64, 950), run={"outcome": "failed", "cause": "host_memory_exhausted"})
    assert amounts(memory_of(unknown_layers(16, 900), died))["batch"] == pytest.approx(3 * 280, rel=0.15)


def test_layers_that_nobody_knows_the_shapes_of_have_no_bounds() -> None:
    """What is inside of an attention: Keras knows that it is there, and not what it gives."""
    after = record(peak_mib=1100)
    unknown = {"name": "einsum", "class": "EinsumDense", "output_shape": [], "parameters": 99, "activation_bytes": 0}
    after["model"]["layers"] = [*after["model"]["layers"], unknown, unknown]
    explained = memory_of(record(), after)
    assert amounts(explained) == {"layers": pytest.approx(200)}
    assert not explained.left_words
