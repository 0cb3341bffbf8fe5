"""How two runs differed, and by how much more than chance: memory by what steps hold, time by who else was on the machine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compare.records import MIB, changed, record
from unstall.compare import noise
from unstall.compare.attribution import compared
from unstall.compare.comparison import NOTHING, told


def measured(peak_mib: float, *, batch: int = 16, **figures: float) -> dict[str, Any]:
    """Figures that end in `_mib` are given in MiB."""
    own = {name.replace("_mib", "_bytes"): value * MIB if name.endswith("_mib") else value for name, value in figures.items()}
    return changed(record(batch=batch, peak_mib=peak_mib), figures=own)


def test_memory_is_what_steps_hold_one_after_the_other_and_not_their_one_highest_moment() -> None:
    before = measured(940, host_usual_mib=900, host_unsure_mib=2)
    after = measured(1002, host_usual_mib=1000, host_unsure_mib=2)
    moved = noise.memory(before, after)
    assert (moved.before, moved.after) == (940 * MIB, 1002 * MIB)
    assert moved.by == 100 * MIB
    assert moved.unsure < noise.memory(measured(940), measured(1002)).unsure / 4


def test_a_peak_far_above_what_steps_hold_has_a_reason_of_its_own_and_counts() -> None:
    before = measured(905, host_usual_mib=900, host_unsure_mib=2)
    after = measured(1105, host_usual_mib=900, host_unsure_mib=2)  # one large image in some thousand small ones
    assert noise.memory(before, after).by == 200 * MIB


def test_what_a_compiler_left_by_chance_is_none_of_the_change() -> None:
    before, after = measured(834, compiler_mib=400), measured(1126, compiler_mib=500)
    moved = noise.memory(before, after)
    assert moved.by == 192 * MIB
    assert "100 MiB more is what the compiler left" in moved.note
    answer = told(before, changed(after, batch=record(batch=32)["batch"]))["answer"]
    assert any("left in the process" in line for line in answer)


def test_of_what_a_compiler_left_of_a_deeper_model_half_may_be_chance() -> None:
    before, after = measured(834, compiler_mib=400), changed(measured(1126, compiler_mib=500), model=record(deeper=4)["model"])
    moved = noise.memory(before, after)
    assert moved.by == 242 * MIB
    assert moved.unsure >= 50 * MIB


def test_what_a_compiler_needs_much_more_of_is_no_chance() -> None:
    assert noise.memory(measured(834, compiler_mib=100), measured(1134, compiler_mib=400)).by == 300 * MIB


def step(seconds: float, busy: float, waiting: float, steps: int = 200, cores: int = 8) -> dict[str, Any]:
    parts = {"input": 0.0, "compute": seconds, "validation": 0.0, "checkpoint": 0.0, "compile": 0.0, "other": 0.0}
    figures = {"step_s": seconds, "steps": steps, "parts": parts, "cpu_cores": busy, "queued_cores": waiting}
    return changed(record(), figures=figures, machine={"cores": cores})


def test_a_step_that_waited_for_cores_as_much_as_it_became_slower_is_not_called_slower() -> None:
    before, after = step(0.139, 1.19, 0.12), changed(step(0.244, 0.93, 0.85), optimizer={"learning_rate": 8.0})
    comparison = compared(before, after)
    assert not comparison.moved["step"].is_clear and not comparison.moved["compute"].is_clear
    assert "waited for a core 9% of its time and the newer 48%" in comparison.moved["step"].note
    assert not comparison.of_channel("time").left_words


def test_the_same_slowness_on_a_quiet_machine_is_clear() -> None:
    moved = noise.step(step(0.139, 1.19, 0.12), step(0.244, 1.19, 0.12))
    assert moved.is_clear and not moved.note


def test_with_fewer_cores_a_program_waits_for_itself() -> None:
    assert noise.step(step(0.14, 1.6, 0.2, cores=2), step(0.26, 1.0, 0.9, cores=1)).is_clear


@pytest.mark.parametrize(("steps", "is_clear"), [(12, False), (2000, True)])
def test_of_a_few_short_steps_one_pause_of_the_machine_is_a_large_share(steps: int, is_clear: bool) -> None:
    assert noise.step(step(0.010, 1.0, 0.0, steps), step(0.016, 1.0, 0.0, steps)).is_clear is is_clear


def test_identical_runs_stay_silent_however_busy_the_machine_was() -> None:
    assert told(step(0.139, 1.19, 0.12), step(0.244, 0.93, 0.85))["answer"] == [NOTHING]
