"""Printed bytes to events: steps, epochs, losses; the same however they are cut, and bounded whatever comes."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from fuzz.drivers.printed_output import SEEDS, TOKENS, one
from hypothesis import given, settings
from hypothesis import strategies as st

from unstall.journal.events import Event, LossPrinted, ProgressPrinted
from unstall.sensors.printed_output.parser import MAX_LINE_BYTES, MAX_QUOTE, OutputParser


def printed(*lines: str, every_s: float = 0.3, end: str = "\n") -> tuple[OutputParser, list[Event]]:
    parser, events = OutputParser(), []
    for number, line in enumerate(lines):
        events += parser.feed((line + end).encode(), every_s * (number + 1))
    events += parser.finish(every_s * (len(lines) + 1))
    return parser, events


def keras_epochs(epochs: int, of: int = 5, loss: str = "0.5") -> list[str]:
    lines = []
    for epoch in range(1, epochs + 1):
        lines.append(f"Epoch {epoch}/{epochs}")
        lines += [f"\x08\x08\x08\r{step}/{of} [==>..] - ETA: 1s - loss: {loss}" for step in range(1, of)]
        lines.append(f"\x08\x08\r{of}/{of} [=====] - 1s 3ms/step - loss: {loss} - val_loss: nan")
    return lines


def losses(events: list[Event]) -> list[LossPrinted]:
    return [event for event in events if isinstance(event, LossPrinted)]


def progress(events: list[Event]) -> list[ProgressPrinted]:
    return [event for event in events if isinstance(event, ProgressPrinted)]


def test_keras_epochs_are_counted_over_the_whole_training() -> None:
    _, events = printed(*keras_epochs(3))
    last = progress(events)[-1]
    assert (last.step, last.of, last.epoch, last.epochs, last.steps) == (5, 5, 3, 3, 15)
    assert all(event.is_finite for event in losses(events))


def test_an_evaluation_by_keras_is_no_training() -> None:
    lines = [*keras_epochs(2), *(f"{step}/7 [==>..] - ETA: 0s - loss: nan" for step in range(1, 8))]
    _, events = printed(*lines)
    assert all(event.is_finite for event in losses(events))
    assert progress(events)[-1].of == 5


def test_a_table_of_losses_belongs_to_the_step_above_it() -> None:
    block = ["INFO:tensorflow:Step {0} per-step time 0.5s", "INFO:tensorflow:{{'Loss/classification_loss': 0.5,",
             " 'Loss/localization_loss': nan,", " 'Loss/total_loss': nan,", " 'learning_rate': 0.03}}"]  # fmt: skip
    _, events = printed(*(line.format(step) for step in range(100, 600, 100) for line in block))
    assert [event.step for event in losses(events)] == [100, 200, 300, 400, 500]
    assert {event.name for event in losses(events)} == {"Loss/total_loss"}
    assert not any(event.is_finite for event in losses(events))
    assert {event.readings for event in losses(events)} == {1}


def test_a_bar_without_a_loss_is_no_training() -> None:
    _, events = printed(
        *(f"Downloading:  4%|#  | {n}/100 [00:10<00:12, 4.5MB/s]" for n in range(9)), "docker: Step 4/9 : RUN make"
    )
    assert progress(events) == []


def test_a_bar_is_that_of_the_training_whose_losses_stand_beside_it() -> None:
    lines = [
        line for n in range(1, 20) for line in (f" 4%|#  | {n}/100 [00:10<00:12, 4.5it/s]", f"{{'loss': 0.5, 'epoch': {n / 10}}}")
    ]
    parser, _ = printed(*lines)
    assert parser.progress is not None
    assert (parser.progress.step, parser.progress.of) == (19, 100)


def test_two_bars_by_turns_are_counted_apart() -> None:
    lines = [
        line
        for epoch in range(3)
        for line in [
            *(f"train:  4%|#  | {n}/10 [00:10<00:12, 4.5it/s, loss=0.5]" for n in range(1, 11)),
            f"Epochs:  4%|#  | {epoch + 1}/3 [00:10<00:12, 4.5it/s]",
        ]
    ]
    parser, _ = printed(*lines, end="\r")
    assert parser.progress is not None
    assert parser.progress.steps == 30


def test_the_first_loss_that_is_not_finite_is_told_at_once_and_the_rest_together() -> None:
    lines = [f"step {n} loss {0.5 if n < 50 else 'nan'}" for n in range(100)]
    _, events = printed(*lines, every_s=0.1)
    seen = losses(events)
    first = next(event for event in seen if not event.is_finite)
    assert (first.step, first.readings) == (50, 1)
    assert sum(event.not_finite for event in seen) == 50
    assert all(later.at - earlier.at >= 0.9 for earlier, later in pairwise(seen) if later is not seen[-1] and later is not first)


def test_losses_that_are_not_finite_now_and_then_are_put_together_too() -> None:
    """As with a loss scale, which leaves out such steps."""
    _, events = printed(*(f"step {n} loss {0.5 if n % 2 else 'nan'}" for n in range(2000)), every_s=0.01)
    assert len(losses(events)) < 60
    assert sum(event.not_finite for event in losses(events)) == 1000


def test_a_flood_of_lines_makes_few_events() -> None:
    _, events = printed(*(f"step {n} loss 0.5" for n in range(50_000)), every_s=0.002)
    assert len(events) < 2 * 80
    assert sum(event.readings for event in losses(events)) == 50_000


def test_what_came_at_once_is_one_moment() -> None:
    parser = OutputParser()
    parser.feed(b"".join(b"step %d loss nan\n" % n for n in range(1000)), 1.0)
    events = losses(parser.finish(9.0))
    assert (sum(event.readings for event in events), sum(event.moments for event in events)) in {(999, 1), (1000, 2)}


def test_a_line_without_end_is_passed_over_and_not_held() -> None:
    parser = OutputParser()
    for _ in range(100):
        assert parser.feed(b"loss: nan step 3 " * 1000, 1.0) == []
    events = [*parser.feed(b"\nstep 4 loss 0.5\n", 2.0), *parser.finish(3.0)]
    assert [event.step for event in losses(events)] == [4]
    assert len(parser._lines._rest) <= MAX_LINE_BYTES


def test_the_rest_of_a_line_whose_beginning_is_missing_says_nothing() -> None:
    parser = OutputParser()
    parser.feed(b"step 4 loss 0.5\nstep 5 lo", 1.0)
    parser.skip()
    events = [*parser.feed(b"ep 77 loss nan\nstep 78 loss 0.25\n", 2.0), *parser.finish(3.0)]
    assert all(event.is_finite for event in losses(events))
    assert progress(events)[-1].step == 78


def test_what_is_quoted_is_short_and_clean() -> None:
    _, events = printed("\x1b[1mstep 4\x1b[0m loss 0.5 " + "lr=0.1 " * 100)
    line = losses(events)[0].line
    assert line.startswith("step 4 loss 0.5")
    assert len(line) <= MAX_QUOTE


@settings(max_examples=300, deadline=None)
@given(
    pieces=st.lists(st.one_of(st.sampled_from((*SEEDS, *TOKENS)), st.binary(max_size=40)), max_size=40),
)
def test_it_does_not_matter_where_the_bytes_are_cut(pieces: list[bytes]) -> None:
    one(b"".join(pieces), None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "nasty",
    ["lossloss" * 250, "1:1:" * 500, "1%|" * 600, "loss" + " " * 1900, "step " * 400, "a.b/" * 480 + "loss", "[" * 2000 + "1/1"],
)
def test_no_line_takes_long(nasty: str) -> None:
    parser = OutputParser()
    began = time.process_time()
    for _ in range(10):
        parser.feed(f"1/1 loss {nasty}\n".encode(), 1.0)
    assert time.process_time() - began < 5.0


def test_events_are_plain_data() -> None:
    _, events = printed(*keras_epochs(2, loss="nan"))
    json.dumps([event.__dict__ for event in events], allow_nan=False)
