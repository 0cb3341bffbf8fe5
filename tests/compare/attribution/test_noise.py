"""How two runs differed, and by how much more than chance: memory by what steps hold, time by who else was on the machine."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.compare.records import MIB, changed, record
from unstall.compare.attribution import noise
from unstall.compare.comparison import NOTHING, compare_as_plain, compare_records, describe_change


def measured(peak_mib: float, *, batch: int = 16, **figures: float) -> dict[str, Any]:
    """Figures that end in `_mib` are given in MiB."""
    own = {name.replace("_mib", "_bytes"): value * MIB if name.endswith("_mib") else value for name, value in figures.items()}
    return changed(record(batch=batch, peak_mib=peak_mib), figures=own)


def test_memory_is_what_steps_hold_one_after_the_other_and_not_their_one_highest_moment() -> None:
    before = measured(940, host_typical_mib=900, host_uncertainty_mib=2)
    after = measured(1002, host_typical_mib=1000, host_uncertainty_mib=2)
    moved = noise.measure_memory_change(before, after)
    assert (moved.before, moved.after) == (940 * MIB, 1002 * MIB)
    assert moved.by == pytest.approx(100 * MIB, rel=0.02)
    assert moved.unsure < noise.measure_memory_change(measured(940), measured(1002)).unsure / 4


def test_where_steps_differ_among_each_other_their_highest_moment_counts_as_well() -> None:
    before = measured(1234, host_before_mib=1014, host_typical_mib=1233, host_uncertainty_mib=1)
    after = measured(1814, host_before_mib=1198, host_typical_mib=1756, host_uncertainty_mib=42)
    moved = noise.measure_memory_change(before, after)
    assert 560 * MIB < moved.by < 580 * MIB
    assert moved.unsure < 3 * 42 * MIB


def test_what_steps_do_not_show_is_not_claimed_by_one_moment() -> None:
    before = measured(719, host_typical_mib=697, host_uncertainty_mib=3)
    after = measured(757, host_typical_mib=710, host_uncertainty_mib=11)
    assert not noise.measure_memory_change(before, after).is_clear


def test_with_pytorch_one_run_is_not_as_the_next_though_its_steps_agree() -> None:
    before, after = (measured(peak, host_typical_mib=peak, host_uncertainty_mib=1) for peak in (1300, 1800))
    of_torch = [changed(each, model={"backend": "torch"}) for each in (before, after)]
    assert noise.measure_memory_change(*of_torch).unsure > 4 * noise.measure_memory_change(before, after).unsure


def test_on_jax_what_a_run_by_itself_holds_of_the_steps_ahead_is_half_counted_and_wholly_unsure() -> None:
    def of(batch: int, peak: float) -> dict[str, Any]:
        return measured(peak, batch=batch, steps=12, compiler_mib=100, host_typical_mib=peak, host_uncertainty_mib=1)

    held = 12 * 16 * (4 * 128 * 128 * 3)  # twelve steps, sixteen images more
    moved = noise.measure_memory_change(of(16, 700), of(32, 1000))
    assert moved.by == 300 * MIB + held / 2
    assert moved.unsure == pytest.approx((held**2 / 4 + (16 * MIB) ** 2) ** 0.5)
    assert noise.measure_memory_change(of(16, 700), of(16, 1000)).by == 300 * MIB


def test_a_peak_far_above_what_steps_hold_has_a_reason_of_its_own_and_counts() -> None:
    before = measured(905, host_typical_mib=900, host_uncertainty_mib=2)
    after = measured(1105, host_typical_mib=900, host_uncertainty_mib=2)  # one large image in some thousand small ones
    assert noise.measure_memory_change(before, after).by == 200 * MIB


def test_what_a_compiler_left_by_chance_is_none_of_the_change() -> None:
    before, after = measured(834, compiler_mib=400), measured(1126, compiler_mib=500)
    moved = noise.measure_memory_change(before, after)
    assert moved.by == 192 * MIB
    assert "100 MiB more is what the compiler left" in moved.note
    answer = compare_as_plain(before, changed(after, batch=record(batch=32)["batch"]))["summary"]
    assert any("left in the process" in line for line in answer)


def test_what_a_compiler_left_and_nothing_shows_makes_no_change_of_its_own() -> None:
    before, after = measured(902, compiler_mib=465), measured(906, compiler_mib=501)
    assert noise.measure_memory_change(before, after).by == 0
    assert noise.measure_memory_change(measured(902, compiler_mib=501), measured(906, compiler_mib=465)).by == 4 * MIB


def test_of_a_change_that_a_compiler_left_less_of_by_chance_half_is_added_and_half_unsure() -> None:
    grown = noise.measure_memory_change(measured(640, compiler_mib=134), measured(780, compiler_mib=102))
    assert grown.by == 156 * MIB and grown.unsure > 16 * MIB


def test_of_what_a_compiler_left_of_a_deeper_model_half_may_be_chance() -> None:
    before, after = measured(834, compiler_mib=400), changed(measured(1126, compiler_mib=500), model=record(deeper=4)["model"])
    moved = noise.measure_memory_change(before, after)
    assert moved.by == 242 * MIB
    assert moved.unsure >= 50 * MIB


def test_what_a_compiler_needs_much_more_of_is_no_chance() -> None:
    assert noise.measure_memory_change(measured(834, compiler_mib=100), measured(1134, compiler_mib=400)).by == 300 * MIB


def step(seconds: float, busy: float, waiting: float, steps: int = 200, cores: int = 8) -> dict[str, Any]:
    parts = {"input": 0.0, "compute": seconds, "validation": 0.0, "checkpoint": 0.0, "compile": 0.0, "other": 0.0}
    figures = {"step_s": seconds, "steps": steps, "parts": parts, "cpu_cores": busy, "queued_cores": waiting}
    return changed(record(), figures=figures, machine={"cores": cores})


def test_a_step_that_waited_for_cores_as_much_as_it_became_slower_is_not_called_slower() -> None:
    before, after = step(0.139, 1.19, 0.12), changed(step(0.244, 0.93, 0.85), optimizer={"learning_rate": 8.0})
    comparison = compare_records(before, after)
    assert not comparison.moved["step"].is_clear and not comparison.moved["compute"].is_clear
    assert "waited for a core 9% of its time and the newer 48%" in comparison.moved["step"].note
    assert not comparison.of_channel("time").left_words


def test_the_same_slowness_on_a_quiet_machine_is_clear() -> None:
    moved = noise.measure_step_change(step(0.139, 1.19, 0.12), step(0.244, 1.19, 0.12))
    assert moved.is_clear and not moved.note


def test_images_per_second_moved_where_the_step_did() -> None:
    for seconds in (0.794, 0.15):
        runs = [changed(step(each, 1.0, 0.9), figures={"images_per_s": 12 / each}) for each in (0.139, seconds)]
        assert noise.measure_speed_change(*runs).is_clear is noise.measure_step_change(*runs).is_clear is (seconds > 0.5)


def test_with_fewer_cores_a_program_waits_for_itself() -> None:
    assert noise.measure_step_change(step(0.14, 1.6, 0.2, cores=2), step(0.26, 1.0, 0.9, cores=1)).is_clear


def test_waiting_for_input_that_is_the_same_at_each_step_is_clear_though_the_machine_is_full() -> None:
    def fed(waiting: float, crowd: float) -> dict[str, Any]:
        figures = {
            "parts": {"input": waiting},
            "parts_uncertainty_s": {"input": 0.002},
            "crowded_share": crowd,
            "step_spread_s": 0.4,
        }
        return changed(step(3.0, 0.2, 0.0), figures=figures)

    assert noise.measure_part_change("input", fed(0.004, 0.85), fed(0.405, 0.88)).is_clear
    assert not noise.measure_part_change("input", fed(0.004, 0.1), fed(0.405, 0.88)).is_clear  # others may have held it up
    assert not noise.measure_part_change("input", fed(0.004, 0.1), fed(0.1, 0.1)).is_clear  # of a step of three seconds


def test_one_step_that_was_held_up_makes_no_run_slower() -> None:
    held_up = changed(step(0.11, 1.1, 0.0), figures={"parts": {"compute": 0.16}, "parts_uncertainty_s": {"compute": 0.04}})
    assert not noise.measure_part_change("compute", held_up, step(0.104, 1.1, 0.0)).is_clear
    steady = changed(held_up, figures={"parts_uncertainty_s": {"compute": 0.002}})
    assert noise.measure_part_change("compute", steady, step(0.104, 1.1, 0.0)).is_clear


@pytest.mark.parametrize(("steps", "is_clear"), [(12, False), (2000, True)])
def test_of_a_few_short_steps_one_pause_of_the_machine_is_a_large_share(steps: int, is_clear: bool) -> None:
    assert noise.measure_step_change(step(0.010, 1.0, 0.0, steps), step(0.016, 1.0, 0.0, steps)).is_clear is is_clear


def test_identical_runs_stay_silent_however_busy_the_machine_was() -> None:
    assert compare_as_plain(step(0.139, 1.19, 0.12), step(0.244, 0.93, 0.85))["summary"] == [NOTHING]


def timed(whole: float, spread: float, crowd: float, waiting: float, computing: float, *unsure: float) -> dict[str, Any]:
    parts = {"input": waiting, "compute": computing, "validation": 0.0, "checkpoint": 0.0, "compile": 0.0, "other": 0.0}
    unsure_s = dict(zip(("input", "compute"), unsure, strict=True))
    figures = {"step_s": whole, "step_spread_s": spread, "crowded_share": crowd, "parts": parts, "parts_uncertainty_s": unsure_s}
    return changed(record(), figures={**figures, "images_per_s": 16 / whole, "steps": 160})


@pytest.mark.parametrize("crowds", [(0.62, 0.80), (0.80, 0.62), (0.7, 0.7), (0.3, 0.6)])
def test_a_run_is_allowed_nothing_for_its_own_slowness(crowds: tuple[float, float]) -> None:
    quick = timed(0.015, 0.0015, crowds[0], 0.002, 0.013, 0.0006, 0.0015)
    slow, slower = (timed(each + 0.03, 0.009, crowds[1], each, 0.03, 0.005, 0.005) for each in (0.2, 2.0))
    for runs in ((quick, slow), (slow, quick)):
        assert noise.measure_part_change("input", *runs).is_clear and noise.measure_step_change(*runs).is_clear
    assert noise.measure_step_change(quick, slow).noise == pytest.approx(noise.measure_step_change(quick, slower).noise)


# As they were measured: the same program on two cores that others used as well.
EQUAL = (
    timed(0.0141, 0.00532, 0.719, 0.00884, 0.00760, 0.00447, 0.00236),
    timed(0.0152, 0.00147, 0.620, 0.00200, 0.01499, 0.00061, 0.00146),
    timed(0.0125, 0.00124, 0.638, 0.00194, 0.01214, 0.00070, 0.00040),
    timed(0.0191, 0.00347, 0.742, 0.00388, 0.01564, 0.00174, 0.00224),
    timed(0.0162, 0.01230, 0.678, 0.00501, 0.01656, 0.00110, 0.00304),
)


def test_equal_runs_on_a_full_machine_are_not_told_apart_by_their_time() -> None:
    for runs in itertools.permutations(EQUAL, 2):
        moved = noise.measure_all_changes(*runs)
        assert not [name for name in ("input", "compute", "step", "images per second") if moved[name].is_clear]


def cut_short(peak_mib: float, **figures: Any) -> dict[str, Any]:
    """Of a run whose journal ends in its first step, which compiles."""
    own = {"steps": 1, "step_s": None, "step_spread_s": None, "parts": {}, "curve": [[0, 1.4]], "crowded_share": 0.83, **figures}
    return changed(
        record(peak_mib=peak_mib), run={"outcome": "interrupted", "command": ["python", "train.py", "--x"]}, figures=own
    )


def test_of_a_run_that_was_cut_short_nothing_is_claimed_that_was_not_measured() -> None:
    whole = changed(record(peak_mib=900), figures={"crowded_share": 0.62, "totals_s": {"validation": 0.0}})
    cut = cut_short(560)
    for runs in ((whole, cut), (cut, whole)):
        plain = compare_as_plain(*runs)
        assert [line.split(":")[0] for line in plain["summary"]] == ["measured in only one of the runs"]
        assert plain["explanations"] == []
        assert "validation" not in plain["summary"][0], "the whole run had none"
        rows = {row["name"]: describe_change(row) for row in plain["metrics"]}
        assert all("not measured" in rows[name] for name in ("step", "host memory"))


def test_memory_that_was_last_looked_at_before_the_steps_is_not_that_of_the_training() -> None:
    cut = cut_short(500, step_s=0.1)
    assert noise.measure_memory_change(record(), cut).after is None
    assert noise.measure_memory_change(record(), changed(cut, run={"outcome": "done"})).after == 500 * MIB


def test_memory_of_programs_without_steps_is_compared_however_they_ended() -> None:
    before, after = (cut_short(peak) for peak in (560, 900))
    assert noise.measure_memory_change(before, after).is_clear


def test_what_a_run_had_come_to_that_died_of_memory_is_shown() -> None:
    died = changed(cut_short(950), run={"outcome": "failed", "cause": "host_memory_exhausted"})
    assert noise.measure_memory_change(record(), died).after == 950 * MIB
    assert noise.measure_memory_change(died, record()).before is None, "it needed more than it came to: how much is not known"


def test_what_a_run_that_was_cut_short_never_came_to_took_it_no_less_time() -> None:
    whole = changed(record(), figures={"totals_s": {"compile": 20.0, "validation": 9.0}})
    cut = cut_short(560, totals_s={"compile": 0.0, "validation": 0.0})
    assert (
        not noise.measure_part_change("compile", whole, cut).is_clear
        and noise.measure_part_change("compile", whole, cut).after is None
    )
    assert noise.measure_part_change("validation", whole, changed(cut, run={"outcome": "done"})).is_clear
