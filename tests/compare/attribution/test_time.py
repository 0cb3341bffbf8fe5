"""Which difference explains a step's time: by the part that changed, and what touches that part."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compare.records import SCRIPT, changed, record, source
from unstall.compare.attribution.explanation import ChannelExplanation
from unstall.compare.comparison import compare_records


def with_parts(plain: dict[str, Any], **parts: float) -> dict[str, Any]:
    known = {**plain["figures"]["parts"], **parts}
    return changed(plain, figures={"parts": known, "step_s": known["input"] + known["compute"]})


def time_of(after: dict[str, Any], before: dict[str, Any] | None = None) -> ChannelExplanation:
    return compare_records(before or record(), after).of_channel("time")


def no_prefetch() -> dict[str, Any]:
    return record(input={"stages": [{"stage": "map", "arguments": {"num_parallel_calls": 4}}]})


def test_a_prefetch_that_is_gone_explains_the_waiting() -> None:
    (only,) = time_of(with_parts(no_prefetch(), input=0.08)).explanations
    assert (only.difference.name, only.part) == ("prefetch", "input")
    assert only.amount == pytest.approx(0.07)
    assert only.words == "+70 ms per step (input)"


def test_a_prefetch_that_is_gone_explains_nothing_of_an_input_that_is_quicker() -> None:
    slow = with_parts(record(), input=0.2)
    assert time_of(with_parts(no_prefetch(), input=0.01), before=slow).explanations == ()


def test_lines_that_augment_and_are_new_explain_no_step_that_is_quicker() -> None:
    augmented = record(sources=source(SCRIPT.replace("model.fit", "images = images + noise(images)\nmodel.fit")))
    slower, quicker = with_parts(augmented, compute=0.3), with_parts(augmented, compute=0.09)
    (only,) = time_of(slower).explanations
    assert (only.difference.name, only.amount > 0) == ("augmentation", True)
    assert time_of(quicker, before=with_parts(record(), compute=0.3)).explanations == ()


def test_more_boxes_explain_no_step_that_is_quicker() -> None:
    def fed(boxes: int) -> dict[str, Any]:
        return changed(record(), batch={"arrays": [{"role": "y", "shape": [16, boxes, 5], "dtype": "float32"}]})

    assert [each.difference.name for each in time_of(with_parts(fed(90), compute=0.3), before=fed(6)).explanations] == ["boxes"]
    assert time_of(with_parts(fed(90), compute=0.09), before=with_parts(fed(6), compute=0.3)).explanations == ()


def test_work_is_shared_by_how_much_more_there_is() -> None:
    after = with_parts(record(batch=32, filters=64), compute=0.09 * 7)
    found = {each.difference.name: each.amount for each in time_of(after).explanations}
    assert sum(found.values()) == pytest.approx(0.09 * 6, rel=0.01)
    assert found["filters"] > found["batch"]  # twice the filters is four times the work


def test_the_rate_explains_no_time() -> None:
    explained = time_of(with_parts(record(optimizer={"learning_rate": 0.1}), compute=0.3))
    assert explained.explanations == ()
    assert "+210 ms per step of compute" in explained.left_words


def test_a_step_whose_parts_were_not_told_apart_is_explained_as_a_whole() -> None:
    after = changed(no_prefetch(), figures={"step_s": 0.25, "parts": {}})
    (only,) = time_of(after, before=changed(record(), figures={"parts": {}})).explanations
    assert (only.difference.name, only.part) == ("prefetch", "")


def test_within_the_spread_of_the_steps_nothing_is_claimed() -> None:
    noisy = changed(with_parts(record(machine={"cores": 4}), compute=0.14), figures={"step_spread_s": 0.06})
    assert time_of(noisy).explanations == ()
