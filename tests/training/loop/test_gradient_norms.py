"""How large updates are: told as means, often at first, and then no more than once a minute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unstall.journal.events import UpdatesMeasured
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder
from unstall.probe.core import probe
from unstall.training.loop.instrumentation import UPDATES_EVERY_S, UPDATES_MAX_S, Updates, group_layers


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFolder]:
    folder = RunFolder(tmp_path)
    probe.set_current(probe.Probe(folder))
    yield folder
    probe.set_current(None)


def events_of(run: RunFolder) -> list[UpdatesMeasured]:
    return read_folder(run.path).of(UpdatesMeasured)


def test_they_are_means_over_the_updates_since_the_last(run: RunFolder) -> None:
    clock, shown = Clock(), []
    updates = Updates(lambda step, values: shown.append((step, dict(values))), clock)
    for step, norm in enumerate((1.0, 2.0, 6.0), 1):
        clock.now = step * UPDATES_EVERY_S / 3
        updates.see(step, 0.1 * step, 11 * norm, {"backbone": norm, "head": 10 * norm})
    (each,) = events_of(run)
    assert (each.step, each.updates, each.rate, each.norm) == (3, 3, 0.3, 33.0)
    assert each.norms == {"backbone": 3.0, "head": 30.0}
    assert shown == [(3, {"gradients/backbone": 3.0, "gradients/head": 30.0})]


def test_a_long_run_tells_them_once_a_minute(run: RunFolder) -> None:
    clock = Clock()
    updates = Updates(now=clock)
    for second in range(6 * 3600):
        clock.now = float(second)
        updates.see(second, 0.1, 1.0, {"head": 1.0})
    steps = [each.step for each in events_of(run)]
    assert steps[1] - steps[0] == UPDATES_EVERY_S and steps[-1] - steps[-2] == UPDATES_MAX_S
    assert len(steps) < 700


def test_what_is_left_is_told_when_somebody_asks_and_nothing_is_told_twice(run: RunFolder) -> None:
    updates = Updates(now=Clock())
    updates.see(1, 0.1, 4.0, {"head": 4.0})
    updates.report()
    updates.report()
    assert [each.norms for each in events_of(run)] == [{"head": 4.0}]


def test_groups_go_from_the_image_to_the_boxes_and_each_variable_is_in_one() -> None:
    names = [
        "head.regression_head.conv.0/bias", "backbone.body.layer10.0.conv1/kernel", "rpn.head.conv/kernel",
        "backbone.body.layer2.0.conv1/kernel", "backbone.fpn.inner_blocks.0.0/kernel", "backbone.body.conv1/kernel",
        "head.regression_head.conv.0/kernel", "backbone/scale_weight",
    ]  # fmt: skip
    assert group_layers(names) == {
        "backbone, first layers": ["backbone.body.conv1/kernel"],
        "backbone, middle layers": ["backbone.body.layer2.0.conv1/kernel"],
        "backbone, last layers": ["backbone.body.layer10.0.conv1/kernel"],
        "backbone": ["backbone/scale_weight"],
        "backbone.fpn": ["backbone.fpn.inner_blocks.0.0/kernel"],
        "rpn.head": ["rpn.head.conv/kernel"],
        "head.regression_head": ["head.regression_head.conv.0/bias", "head.regression_head.conv.0/kernel"],
    }
