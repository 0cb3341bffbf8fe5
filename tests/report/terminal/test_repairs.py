"""Repairs in the story of a run, and as a person reads them."""

import io

from rich.console import Console

from tests.diagnosis.builders import T0
from unstall.diagnosis.findings import diagnose
from unstall.journal.events import Event, PlanMade, PlanUndone, PlanVerified, ProcessEnded, RepairsEnded, RunStarted
from unstall.journal.reader import Journal
from unstall.report.story.run import build_story
from unstall.report.terminal import repairs
from unstall.report.terminal import story as story_text

PLAN = PlanMade(
    at=T0, remedy="shrink_micro_batch", cause="device_memory_exhausted", verb="change", change={"micro_batch_size": 4},
    undo={"micro_batch_size": 8}, why="8 did not fit.", attempt=1, max_attempts=10, step=1234, from_step=1200, happened="Memory ran out.",
    evidence=["RESOURCE_EXHAUSTED"], verify="the training has got past step 1,234",
)  # fmt: skip


def story(*events: Event) -> dict[str, object]:
    journal = Journal([RunStarted(at=T0 - 1, mode="train"), *events])
    return build_story(journal, diagnose(journal))


def shown(show: object, *arguments: object) -> str:
    out = io.StringIO()
    show(*arguments, Console(file=out, width=100))  # type: ignore[operator]
    return out.getvalue()


def test_a_repair_says_what_happened_what_is_changed_and_which_attempt_it_is() -> None:
    said = shown(repairs.show_newest, story(PLAN))
    for part in (
        "1 of at most 10",
        "Memory ran out.",
        "RESOURCE_EXHAUSTED",
        "micro_batch_size 8 → 4",
        "from step 1,200",
        "got past step",
    ):
        assert part in said


def test_the_summary_has_a_line_for_each_with_whether_it_helped() -> None:
    (result,) = story(PLAN, PlanVerified(at=T0 + 1, attempt=1, how="so"))["repairs"]  # type: ignore[misc]
    assert story_text.format_repair(result) == "1: device_memory_exhausted in step 1,234: micro_batch_size 8 → 4; it helped"
    (result,) = story(PLAN, PlanUndone(at=T0 + 1, attempt=1, why="so"))["repairs"]  # type: ignore[misc]
    assert story_text.format_repair(result).endswith("undone, it did not help")
    (result,) = story(PLAN)["repairs"]  # type: ignore[misc]
    assert story_text.format_repair(result).endswith("not seen to help yet")


def test_a_run_without_repairs_has_none() -> None:
    plain = story(ProcessEnded(at=T0, exit_code=0))
    assert plain["repairs"] == [] and plain["repair_failed"] is None


def test_an_end_without_help_says_why_and_how_to_bring_it_about_again() -> None:
    end = RepairsEnded(
        at=T0 + 2,
        cause="worker_died",
        step=7,
        happened="It died.",
        why="no remedy is left",
        advice="unstall train …",
        command="python -m x",
    )
    said = shown(repairs.show_newest, story(PLAN, end))
    for part in ("worker_died in step 7: it cannot be helped", "no remedy is left", "unstall train …", "python -m x"):
        assert part in said


def test_one_that_was_started_again_since_is_not_given_up() -> None:
    assert story(RepairsEnded(at=T0 - 5, cause="worker_died"))["repair_failed"] is None


def test_a_training_that_was_interrupted_is_no_failure() -> None:
    assert story(ProcessEnded(at=T0, exit_code=75))["state"] == "interrupted"


def test_a_guest_of_another_machine_s_run_does_not_know_the_step_that_it_goes_on_from() -> None:
    resumed = {"change": {}, "before": {}, "verb": "resume from", "from_step": 20}
    assert story_text.format_changes(resumed) == "resume from step 20"
    assert story_text.format_changes({**resumed, "from_step": 0}) == "resume from the newest checkpoint of worker 0"
    assert story_text.format_changes({**resumed, "from_step": 0, "verb": "restart"}) == "begun again"
