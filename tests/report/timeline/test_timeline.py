"""A run over time: where its time went, its numbers, memory and input, and what happened when."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.diagnosis.builders import T0, host, journal, stalled, started, steps
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.run_summary import summarize_time
from unstall.journal.events import (
    CheckpointSaved,
    DeviceSampled,
    EpochEnded,
    ErrorRaised,
    Event,
    InputMeasured,
    PhaseEnded,
    PipelineMeasured,
    ProcessEnded,
    RunStarted,
    StallEnded,
    StepsEnded,
    VerdictReached,
    WeightsSampled,
)
from unstall.report.story.run import build_story
from unstall.report.timeline import Timeline, build_timeline
from unstall.report.timeline.sections import group_losses


def of_stream(events: list[Event]) -> Timeline:
    timeline = Timeline()
    timeline.extend(events)
    return timeline


def timeline_of(*events: Event, now: float | None = None) -> dict[str, Any]:
    known = journal(*events, now=now)
    return build_timeline(known).plain(known.now)


def plot(name: str, *events: Event, now: float | None = None) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in timeline_of(*events, now=now)["plots"] if each["name"] == name)
    return found


def lines(name: str, *events: Event) -> dict[str, list[float]]:
    return {line["name"]: line["mean"] for line in plot(name, *events)["lines"]}


def seconds_of(areas: dict[str, Any]) -> dict[str, float]:
    """Shares of bins as seconds of the run. The bins are full ones: the run's length is a multiple of them."""
    return {area["name"]: sum(area["shares"]) / 100 * areas["bin_s"] for area in areas["areas"]}


# --- where the time went ---


def test_the_time_over_the_run_is_that_of_the_terminal() -> None:
    events = [
        started(),
        steps(0, 0, at=10, each_s=8),
        steps(1, 50, at=20, wait_s=0.05),
        PhaseEnded(at=T0 + 25, phase="validate", seconds=4),
        CheckpointSaved(at=T0 + 28, seconds=2),
        steps(51, 100, at=40, wait_s=0.15),
    ]
    known = journal(*events, now=40)
    split = {name: seconds for name, seconds in summarize_time(known).items() if seconds and name != "total"}
    assert seconds_of(plot("time", *events, now=40)) == pytest.approx(split, abs=0.05)


def test_a_stall_that_lasts_is_shown_as_stuck_from_its_begin() -> None:
    areas = plot("time", started(), steps(1, 50, at=10), stalled(since=10, at=18), now=40)
    assert seconds_of(areas)["stuck"] == pytest.approx(30, abs=0.05)
    stuck = next(area["shares"] for area in areas["areas"] if area["name"] == "stuck")
    first = next(place for place, share in enumerate(stuck) if share > 0)
    assert first * areas["bin_s"] == pytest.approx(10, abs=0.2)


def test_a_stall_that_ended_is_time_of_the_step_it_was_in() -> None:
    ended = StallEnded(at=T0 + 40, seconds=30)
    areas = plot("time", started(), stalled(since=10, at=18), ended, steps(1, 1, at=40, each_s=30))
    assert "stuck" not in seconds_of(areas)


def test_a_stall_ends_where_another_worker_is_started() -> None:
    again = RunStarted(at=T0 + 40, mode="train")
    events = [
        started(),
        steps(1, 50, at=10),
        stalled(since=10, at=18),
        ProcessEnded(at=T0 + 39, signal=9),
        again,
        steps(1, 50, at=60),
    ]
    assert seconds_of(plot("time", *events, now=60))["stuck"] == pytest.approx(30, abs=0.05)
    stall = timeline_of(*events)["marks"]["shown"][0]
    assert (stall["at"], stall["until"], "goes_on" in stall) == (10, 40, False)


def test_input_that_was_not_measured_is_said() -> None:
    assert "not measured" in plot("time", started(), steps(1, 9, at=9))["note"]
    assert "not measured" not in plot("time", started(), steps(1, 9, at=9, wait_s=0.1))["note"]


def test_shares_never_exceed_the_time_that_passed() -> None:
    """Two processes train at once, and each tells of its own steps."""
    areas = plot("time", started(), steps(1, 100, at=20), steps(1, 100, at=20), now=20)
    totals = [sum(shares) for shares in zip(*(area["shares"] for area in areas["areas"]), strict=True)]
    assert max(totals) <= 100.5 and min(totals) > 99


def test_the_longest_step_of_a_group_stays_visible() -> None:
    group = StepsEnded(at=T0 + 20, first=1, last=100, seconds=20, busy_s=20, longest_s=5.0)
    line = plot("step_time", started(), group)["lines"][0]
    assert (line["mean"], line["high"]) == ([0.2], [5.0])


# --- numbers ---


def test_losses_of_steps_and_epochs_and_the_figures_have_their_plots() -> None:
    epoch = EpochEnded(at=T0 + 9, logs={"loss": 1.5, "val_loss": 1.8, "accuracy": 0.4, "learning_rate": 0.01})
    events = [started(), steps(1, 9, at=4, loss=2.0), epoch]
    assert lines("loss", *events) == {"of the steps": [2.0], "mean of an epoch": [1.5], "validation": [1.8]}
    assert lines("figures", *events) == {"accuracy": [0.4]}
    assert lines("learning_rate", *events) == {"learning rate": [0.01]}


def test_what_the_own_trainer_tells_of_an_epoch_stands_where_it_belongs() -> None:
    plain = {
        "loss": 3.0,
        "box_loss": 1.0,
        "class_loss": 2.0,
        "gradient_norm": 7.0,
        "rate": 0.02,
        "AP": 0.3,
        "eval_s": 4.0,
        "train_s": 60.0,
    }
    events = [started(), EpochEnded(at=T0 + 9, logs={**plain})]
    assert lines("loss", *events) == {"mean of an epoch": [3.0], "box_loss": [1.0], "class_loss": [2.0]}
    assert lines("gradient_norm", *events) == {"of all weights": [7.0]}
    assert lines("figures", *events) == {"AP": [0.3]}
    assert lines("learning_rate", *events) == {"learning rate": [0.02]}


def test_a_loss_over_many_decades_has_a_scale_of_decades() -> None:
    many = [steps(place, place, at=place, loss=10.0**-place) for place in range(1, 6)]
    assert plot("loss", started(), *many)["is_log"]
    assert not plot("loss", started(), *many[:2])["is_log"]


def weights(at: float, **gradients: float) -> WeightsSampled:
    rows = [
        {"name": f"net/{name}/kernel", "shape": [4], "rms": 1.0, "step": 0.01, "gradient": value}
        for name, value in gradients.items()
    ]
    return WeightsSampled(at=T0 + at, step=1, facts={"learning_rate": 0.1, "weights": rows})


def test_gradients_are_norms_by_layer() -> None:
    events = [started(), weights(1, conv=0.5, head=3.0)]
    assert lines("gradients", *events) == {"conv": [1.0], "head": [6.0]}  # rms · √4
    assert lines("updates", *events) == {"conv": [0.01], "head": [0.01]}
    assert lines("learning_rate", *events) == {"learning rate": [0.1]}


def test_layers_of_a_deep_model_are_put_together_with_their_neighbours() -> None:
    names = tuple(f"net/block_{number:02d}/{part}" for number in range(32) for part in ("kernel", "bias"))
    found = group_losses(names)
    assert len(set(found.values())) == 8
    assert found["net/block_00/kernel"] == found["net/block_03/bias"] == "block_00 … block_03"


def test_one_layer_is_called_by_its_whole_path() -> None:
    assert group_losses(("net/dense/kernel", "net/dense/bias")) == dict.fromkeys(
        ("net/dense/kernel", "net/dense/bias"), "net/dense"
    )
    assert group_losses(("scale",)) == {"scale": "scale"}


# --- memory and input ---


def test_host_memory_stands_against_the_limit_that_binds() -> None:
    sample = host(3, rss_bytes=2 << 30, cgroup_used_bytes=3 << 30, cgroup_limit_bytes=4 << 30)
    found = plot("host_memory", started(), sample)
    assert {line["name"] for line in found["lines"]} == {"the program", "its control group"}
    assert found["limits"] == [{"name": "limit", "value": float(4 << 30)}]
    assert plot("host_memory", started(), host(3))["limits"] == [{"name": "limit", "value": float(16 << 30)}]


def test_each_device_has_its_lines_and_cards_of_one_size_one_limit() -> None:
    ours = {"pid": 1, "bytes": 10 << 30, "ours": True}
    cards = [
        DeviceSampled(
            at=T0 + 2, index=index, name="H200", used_bytes=20 << 30, total_bytes=140 << 30, busy_percent=50, processes=[ours]
        )
        for index in range(2)
    ]
    found = plot("device_memory", started(), *cards)
    assert len(found["lines"]) == 4
    assert found["limits"] == [{"name": "limit", "value": float(140 << 30)}]
    assert lines("device_busy", started(), *cards) == {"H200 0": [50.0], "H200 1": [50.0]}


def test_queues_and_stages_of_a_pipeline_are_told_between_two_looks() -> None:
    def look(at: float, work: float, buffered: int) -> PipelineMeasured:
        nodes = [
            {"name": "Map", "elements": 9, "seconds": work, "at_a_time": 2, "buffered": 0},
            {"name": "Prefetch", "elements": 9, "seconds": 0.0, "at_a_time": 1, "buffered": buffered},
        ]
        return PipelineMeasured(at=T0 + at, number=1, seconds=at, nodes=nodes)

    events = [started(), look(10, 5.0, 4), look(20, 20.0, 0)]
    assert lines("queues", *events) == {"Prefetch": [4.0, 0.0]}
    assert lines("stages", *events)["Map"] == [0.5, 1.5]


def test_the_own_pipeline_tells_of_its_stages_too() -> None:
    measured = InputMeasured(at=T0 + 10, seconds=10, decode_s=15, ready_batches=3)
    assert lines("stages", started(), measured)["decode"] == [1.5]
    assert lines("queues", started(), measured) == {"batches made ahead": [3.0]}


# --- what happened ---


def marks(*events: Event, now: float | None = None) -> list[tuple[str, str]]:
    return [(mark["kind"], mark["title"]) for mark in timeline_of(*events, now=now)["marks"]["shown"]]


def test_faults_errors_stalls_restarts_and_the_end_are_marked_in_order() -> None:
    verdict = VerdictReached(at=T0 + 50, cause="input_starved", summary="It waits.")
    again = RunStarted(at=T0 + 60, mode="run", folder="/x")
    error = ErrorRaised(at=T0 + 70, kind="ValueError", message="no", fatal=True)
    caught = ErrorRaised(at=T0 + 71, kind="KeyError", fatal=False)
    end = ProcessEnded(at=T0 + 80, exit_code=1)
    events = [started(), stalled(since=10, at=18), StallEnded(at=T0 + 30), verdict, again, error, caught, end]
    assert marks(*events) == [
        ("pause", "no progress for 20 s at step 381"),
        ("fault", "input_starved"),
        ("restart", "begun again"),
        ("error", "ValueError"),
        ("end", "ended"),
    ]


def test_a_stall_in_which_a_verdict_was_reached_stays_a_stall_when_it_ends() -> None:
    verdict = VerdictReached(at=T0 + 25, cause="generator_blocked", summary="It waits.")
    stall = [stalled(since=10, at=18), verdict, StallEnded(at=T0 + 30)]
    again = [stalled(since=40, at=48), StallEnded(at=T0 + 60)]  # the same verdict is not told twice
    assert [kind for kind, _ in marks(started(), *stall, *again)] == ["stall", "fault", "stall"]


@pytest.mark.parametrize(("exit_code", "kind"), [(0, "pause"), (1, "stall")])
def test_a_stall_that_the_program_ends_in_is_a_pause_if_it_ended_well(exit_code: int, kind: str) -> None:
    ended = ProcessEnded(at=T0 + 30, exit_code=exit_code)
    assert marks(started(), stalled(since=10, at=18), ended)[0][0] == kind


def test_a_stall_that_goes_on_is_marked_up_to_now() -> None:
    (mark,) = timeline_of(started(), stalled(since=10, at=18), now=50)["marks"]["shown"]
    assert (mark["at"], mark["until"], mark["goes_on"]) == (10, 50, True)


def test_the_first_loss_that_is_not_finite_is_marked() -> None:
    bad = [StepsEnded(at=T0 + at, first=at, last=at, loss_is_finite=False) for at in (7, 8)]
    assert marks(started(), *bad) == [("fault", "the loss is not finite since step 7")]


@dataclass(frozen=True)
class PlanMade(Event):
    """As a later version writes it: known by its name."""

    remedy: str = ""
    why: str = ""


@dataclass(frozen=True)
class EpochScored(Event):
    epoch: int = 0
    figures: dict[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingBegan(Event):
    from_step: int = 0


@dataclass(frozen=True)
class CheckpointCompleted(Event):
    step: int = 0


def test_events_of_repairing_and_of_the_trainer_are_known_by_name() -> None:
    plan = PlanMade(at=T0 + 5, remedy="shrink_batch", why="out of memory")
    scored = EpochScored(at=T0 + 9, epoch=3, figures={"AP": 0.31, "AP75": None})
    assert marks(started(), plan, scored) == [("plan", "plan: shrink_batch"), ("note", "epoch 3 scored")]
    assert lines("figures", started(), scored) == {"AP": [0.31]}


def test_the_trainer_begins_again_from_a_checkpoint_and_each_checkpoint_is_one_mark() -> None:
    saved, completed = CheckpointSaved(at=T0 + 5, seconds=0.1), CheckpointCompleted(at=T0 + 6, step=40)
    died, again = ProcessEnded(at=T0 + 7, exit_code=1), RunStarted(at=T0 + 8, mode="train")
    events = [started(), TrainingBegan(at=T0 + 1), saved, completed, died, again, TrainingBegan(at=T0 + 9, from_step=40)]
    assert marks(*events) == [("checkpoint", "checkpoint of step 40"), ("end", "ended"), ("restart", "begun again")]
    assert timeline_of(*events)["marks"]["shown"][-1]["detail"] == "from step 40"


def test_many_checkpoints_are_thinned_out_and_still_counted() -> None:
    saved = [CheckpointSaved(at=T0 + at, path=f"{at}.keras") for at in range(1, 1001)]
    found = timeline_of(started(), *saved)["marks"]
    assert found["counts"] == {"checkpoint": 1000}
    assert len(found["shown"]) <= 80
    assert (found["shown"][0]["detail"], found["shown"][-1]["detail"]) == ("1.keras", "1000.keras")


# --- bounds ---


def test_a_million_steps_give_no_more_points_than_a_thousand() -> None:
    """Twelve steps to a group, as the probe puts short ones together, over a week; with memory looked at as often."""
    timeline = Timeline()
    timeline.extend([started()])
    seconds = 7 * 24 * 3600
    count = 1_000_000 // 12
    for number in range(1, count):
        at = T0 + seconds * number / count
        spike = 60.0 if number == 41_234 else 0.6
        timeline.extend(
            [
                StepsEnded(
                    at=at, first=12 * number, last=12 * number + 11, seconds=7.2, busy_s=7.2, longest_s=spike,
                    wait_s=1.2, waited_steps=12, loss=1 / number, loss_is_finite=True,
                ),
            ]
        )  # fmt: skip
    found = timeline.plain()
    by_name = {each["name"]: each for each in found["plots"]}
    assert found["steps"]["mean"][-1] > 990_000
    assert len(by_name["time"]["areas"][0]["shares"]) <= 1200
    for name in ("step_time", "loss"):
        assert 400 <= len(by_name[name]["lines"][0]["t"]) <= 1000
    assert max(by_name["step_time"]["lines"][0]["high"]) == 60.0


def test_the_sums_of_a_long_run_are_those_of_all_its_steps() -> None:
    """A journal in memory keeps some thousand groups of steps; the terminal's figures must not be of these alone."""
    events = [started(), *(steps(number, number, at=2.0 * number, each_s=1.5, wait_s=0.5) for number in range(1, 12_000))]
    events.append(host(9_000, rss_bytes=5 << 30))
    known = journal(*events)
    story = of_stream(events).exact(build_story(known, diagnose(known)), known.now)
    assert story["time"]["input"] == pytest.approx(0.5 * 11_999, rel=1e-3)
    assert story["time"]["compute"] == pytest.approx(11_999, rel=1e-3)
    assert story["time"]["total"] == known.now - T0
    assert story["memory"]["host_peak_bytes"] == 5 << 30


def test_a_short_run_is_told_exactly_as_before() -> None:
    cards = [DeviceSampled(at=T0 + 2, index=index, name="H200", used_bytes=index, total_bytes=9) for index in (1, 0)]
    known = journal(started(), steps(0, 0, at=5, each_s=4), steps(1, 9, at=9), stalled(since=9, at=18), host(3), *cards, now=40)
    story = build_story(known, diagnose(known))
    exact = build_timeline(known).exact(story, known.now)
    assert exact["time"] == pytest.approx(story["time"])
    assert exact["memory"] == story["memory"]


def test_every_plot_has_a_table_of_a_few_rows() -> None:
    events = [started(), *(steps(place, place, at=place, loss=float(place)) for place in range(1, 200)), host(50, 1.5)]
    for each in timeline_of(*events)["plots"]:
        table = each["table"]
        assert 1 <= len(table["rows"]) <= 12
        assert all(len(row["cells"]) == len(table["columns"]) for row in table["rows"])
    losses = plot("loss", *events)["table"]["rows"]
    assert losses[0]["cells"][0]["low"] == 1.0 and losses[-1]["cells"][0]["high"] == 199.0


def test_a_journal_of_nothing_gives_no_plots() -> None:
    assert timeline_of() == {
        "began": None,
        "seconds": 0.0,
        "plots": [],
        "marks": {"shown": [], "counts": {}},
        "steps": {"t": [], "mean": []},
    }
