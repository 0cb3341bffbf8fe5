"""The record of a run: whatever its journal holds, the sections are there, and say what was seen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from unstall.compare.record import store
from unstall.compare.record.store import load_record
from unstall.journal.events import (
    BatchesCounted,
    BatchSampled,
    CircumstancesSeen,
    CompilationsCounted,
    DeviceMemoryCounted,
    DeviceSampled,
    EpochScored,
    ErrorRaised,
    Event,
    FitBegan,
    HostSampled,
    InputDescribed,
    ModelRecorded,
    ModulesLoaded,
    PipelineBuilt,
    ProcessEnded,
    ProgramStarted,
    RunStarted,
    SignalSent,
    StallBegan,
    StepsEnded,
    VersionsRead,
)
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import JournalWriter

SECTIONS = {
    "run", "settings", "sources", "named_files", "environment", "versions", "machine", "devices", "data", "batch", "model", "optimizer", "loss",
    "input", "figures",
}  # fmt: skip
OLD_JOURNALS = sorted(path for path in (Path(__file__).parents[2] / "journals").iterdir() if path.is_dir())
START = RunStarted(at=100.0, mode="run", command=["python", "train.py", "--token", "x17"], folder="/home/me", pid=4)


def run_of(folder: Path, *events: Event) -> RunFolder:
    writer = JournalWriter(folder / "events-watcher-1.jsonl")
    for event in events:
        writer.write(event)
    writer.close()
    return RunFolder(folder)


# --- whatever the journal holds ---


def test_a_folder_without_a_journal_has_every_section_empty(tmp_path: Path) -> None:
    result = load_record(RunFolder(tmp_path))
    assert set(result) == SECTIONS
    assert result["sources"] == result["environment"] == result["model"] == result["data"] == {}
    assert result["devices"] == [] and result["figures"]["steps"] == 0


def test_a_torn_journal_tells_what_came_before(tmp_path: Path) -> None:
    run = run_of(tmp_path, START)
    with (tmp_path / "events-watcher-1.jsonl").open("ab") as file:
        file.write(b'\xff\xfe not json\n{"event":"StepsEnded","first":"x"}\n{"event":"ModelRec')
    assert load_record(run)["run"]["command"][:2] == ["python", "train.py"]


def test_an_event_of_an_odd_form_costs_its_section_alone(tmp_path: Path) -> None:
    odd = BatchesCounted(at=101.0, shapes=[{"arrays": 7}], different=1, batches=1)
    result = load_record(run_of(tmp_path, START, odd, VersionsRead(at=102.0, versions={"numpy": "2.0"})))
    assert result["batch"] == {} and result["versions"] == {"numpy": "2.0"}


@pytest.mark.parametrize("path", OLD_JOURNALS, ids=lambda path: path.name)
def test_a_journal_from_before_there_were_records_is_read(path: Path) -> None:
    result = load_record(RunFolder(path))
    assert set(result) == SECTIONS
    assert result["run"]["outcome"] in {"done", "failed", "stuck"}
    assert result["run"]["seconds"] > 0


# --- how it ended ---

FATAL = ErrorRaised(at=190.0, kind="ValueError", message="bad", fatal=True, thread="MainThread")


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([ProcessEnded(at=200.0, exit_code=0)], "done"),
        ([FATAL, ProcessEnded(at=200.0, exit_code=1)], "failed"),
        ([ProcessEnded(at=200.0, signal=signal.SIGKILL)], "failed"),
        ([ProcessEnded(at=200.0, signal=signal.SIGTERM)], "interrupted"),
        ([SignalSent(at=199.0, signal=signal.SIGINT, from_terminal=True), ProcessEnded(at=200.0, exit_code=1)], "interrupted"),
        ([ErrorRaised(at=190.0, kind="KeyboardInterrupt", fatal=True), ProcessEnded(at=200.0, exit_code=130)], "interrupted"),
        ([StallBegan(at=150.0, phase="train"), ProcessEnded(at=200.0, signal=signal.SIGINT)], "stuck"),
        ([StallBegan(at=150.0, phase="train", sure=False), ProcessEnded(at=200.0, signal=signal.SIGINT)], "interrupted"),
        ([ProcessEnded(at=200.0, exit_code=143, stopped_by_us=True)], "stuck"),
        ([FATAL], "failed"),
        ([], "interrupted"),
    ],
)
def test_how_a_run_ended(events: list[Event], outcome: str, tmp_path: Path) -> None:
    assert load_record(run_of(tmp_path, START, *events))["run"]["outcome"] == outcome


def test_a_run_whose_process_is_there_and_whose_journal_is_fresh_is_running(tmp_path: Path) -> None:
    import time

    here = RunStarted(at=time.time(), mode="run", command=["python"], pid=os.getpid())
    assert load_record(run_of(tmp_path, here))["run"]["outcome"] == "running"


# --- secrets ---


def test_a_secret_on_the_command_line_is_masked(tmp_path: Path) -> None:
    assert load_record(run_of(tmp_path, START))["run"]["command"] == ["python", "train.py", "--token", "•••"]


# --- figures ---


def steps(
    first: int, last: int, seconds: float, loss: float | None = None, wait_s: float | None = None, at: float = 120.0
) -> Event:
    count = last - first + 1
    return StepsEnded(at=at, first=first, last=last, seconds=seconds, busy_s=seconds - (wait_s or 0.0), loss=loss, wait_s=wait_s,
                      waited_steps=count if wait_s is not None else 0)  # fmt: skip


def test_the_time_of_a_step_is_the_median_after_the_warm_up(tmp_path: Path) -> None:
    groups = [
        steps(0, 0, 30.0),
        steps(1, 2, 4.0),
        steps(3, 12, 1.0, wait_s=0.5),
        steps(13, 22, 1.0, wait_s=0.5),
        steps(23, 23, 9.0),
    ]
    text = load_record(run_of(tmp_path, START, *groups))["figures"]
    assert text["steps"] == 24
    assert text["step_s"] == pytest.approx(0.1)
    assert text["parts"]["input"] == pytest.approx(1.0 / 21)
    assert text["parts"]["compile"] == pytest.approx(30.0 / 24)


def test_of_losses_the_first_the_last_the_least_and_a_thinned_curve_are_told(tmp_path: Path) -> None:
    groups = [steps(number, number, 0.1, loss=abs(700 - number) + 1.0, at=100.0 + number) for number in range(1500)]
    text = load_record(run_of(tmp_path, START, *groups))["figures"]
    assert (text["loss_first"], text["loss_last"], text["loss_min"]) == (701.0, 800.0, 1.0)
    assert 100 < len(text["curve"]) <= 400
    assert text["curve"][0] == [0, 701.0]


def test_the_peak_is_that_of_the_allocator_where_it_was_asked_and_else_that_of_the_card(tmp_path: Path) -> None:
    ours = {"pid": 4, "name": "python", "bytes": 70, "ours": True}
    card = DeviceSampled(at=110.0, name="H200", used_bytes=90, total_bytes=100, processes=[ours])
    of_card = load_record(run_of(tmp_path, START, card))["figures"]
    assert (of_card["device_peak_bytes"], of_card["device_peak_is_of"], of_card["device_limit_bytes"]) == (70, "the card", 100)
    counted = DeviceMemoryCounted(at=111.0, framework="tensorflow", device="gpu:0", in_use_bytes=20, peak_bytes=40)
    of_allocator = load_record(run_of(tmp_path, counted))["figures"]
    assert (of_allocator["device_peak_bytes"], of_allocator["device_peak_is_of"]) == (40, "the allocator")


def test_the_peak_of_the_host_is_the_kernels_own_where_samples_missed_it(tmp_path: Path) -> None:
    events = [HostSampled(at=110.0, rss_bytes=500), ProcessEnded(at=120.0, exit_code=0, peak_rss_bytes=900)]
    assert load_record(run_of(tmp_path, START, *events))["figures"]["host_peak_bytes"] == 900


def test_the_score_is_that_of_the_best_epoch(tmp_path: Path) -> None:
    best = EpochScored(at=130.0, figures={"AP": 0.4, "AP50": 0.7}, is_best=True)
    later = EpochScored(at=140.0, figures={"AP": 0.3, "AP50": 0.6})
    assert load_record(run_of(tmp_path, START, best, later))["figures"]["score"] == {"AP": 0.4, "AP50": 0.7}


# --- what it was made of ---


def test_cards_are_told_as_they_were_before_the_start(tmp_path: Path) -> None:
    other = {"pid": 9, "name": "jupyter", "bytes": 30, "ours": False}
    before = DeviceSampled(at=100.1, name="H200", used_bytes=32, total_bytes=100, processes=[other])
    later = DeviceSampled(at=130.0, name="H200", used_bytes=99, total_bytes=100, processes=[])
    (card,) = load_record(run_of(tmp_path, START, before, later))["devices"]
    assert card["free_bytes_before"] == 68
    assert card["foreign"] == [{"pid": 9, "name": "jupyter", "bytes": 30}]


def test_variables_are_those_of_the_start_and_what_the_program_has_set_since(tmp_path: Path) -> None:
    seen = CircumstancesSeen(at=100.1, variables={"TF_A": "1", "PYTHONPATH": "src"})
    loaded = ModulesLoaded(at=105.0, variables={"TF_A": "2", "XLA_FLAGS": "x", "PYTHONPATH": "ours:src"})
    text = load_record(run_of(tmp_path, START, seen, loaded))["environment"]
    assert text == {"PYTHONPATH": "src", "TF_A": "2", "XLA_FLAGS": "x"}


def test_versions_come_from_all_who_tell_them(tmp_path: Path) -> None:
    events = [
        ProgramStarted(at=100.2, python="3.11.9"),
        VersionsRead(at=103.0, versions={"opencv-python-headless": "4.9", "keras": "3"}),
    ]
    text = load_record(run_of(tmp_path, START, *events))["versions"]
    assert text == {"keras": "3", "opencv": "4.9", "opencv-python-headless": "4.9", "python": "3.11.9"}


def test_a_layer_tells_what_its_outputs_take_in_a_step_of_the_largest_batch(tmp_path: Path) -> None:
    batches = BatchesCounted(
        at=110.0,
        shapes=[
            {"arrays": [["x", "", [8, 64, 64, 3], "float32"], ["y", "", [8], "int64"]], "batches": 5},
            {"arrays": [["x", "", [8, 32, 32, 3], "float32"], ["y", "", [8], "int64"]], "batches": 7},
        ],
        different=2,
        batches=12,
    )
    conv = ["conv", "Conv2D", [[None, 64, 64, 16]], 448, 448, "float16"]
    head = ["head", "Conv2D", [[None, 8, 8, 4], [None, 4, 4, 4]], 148, 0, "float32"]
    own = ["own", "Own", [], 10, 10, "float32"]
    model = ModelRecorded(
        at=105.0, facts={"model": "Functional", "parameters": 606, "policy": "mixed_float16"}, layers=[conv, head, own]
    )
    result = load_record(run_of(tmp_path, START, model, batches))
    assert (result["batch"]["size"], result["batch"]["different_shapes"]) == (8, 2)
    assert result["batch"]["input_bytes"] == 8 * 64 * 64 * 3 * 4
    layers = result["model"]["layers"]
    assert [layer["activation_bytes"] for layer in layers] == [8 * 64 * 64 * 16 * 2, 8 * (8 * 8 + 4 * 4) * 4 * 4, None]
    assert [layer["output_shape"] for layer in layers] == [[None, 64, 64, 16], [None, 8, 8, 4], None]
    assert result["model"]["precision"] == "mixed_float16"


def test_of_arrays_given_to_fit_a_batch_is_so_many_rows(tmp_path: Path) -> None:
    arrays = [{"role": "x", "name": "", "shape": [1000, 28, 28], "dtype": "float32", "min": 0.0, "max": 1.0, "mean": 0.5},
              {"role": "y", "name": "", "shape": [1000], "dtype": "int64", "min": 0.0, "max": 9.0, "mean": 4.0}]  # fmt: skip
    events = [
        InputDescribed(at=104.0, kind="arrays", arguments={"batch_size": 32}),
        BatchSampled(at=105.0, facts={"source": "arrays", "arrays": arrays}),
    ]
    text = load_record(run_of(tmp_path, START, *events))["batch"]
    assert [array["shape"] for array in text["arrays"]] == [[32, 28, 28], [32]]


def test_arguments_of_stages_have_their_names(tmp_path: Path) -> None:
    events = [
        PipelineBuilt(at=101.0, stage="map", arguments={"argument_1": 4, "function": "load"}),
        PipelineBuilt(at=101.1, stage="batch", arguments={"argument_0": 16}),
        PipelineBuilt(at=101.2, stage="prefetch", arguments={"buffer_size": -1}),
    ]
    stages = load_record(run_of(tmp_path, START, *events))["input"]["stages"]
    assert [stage["arguments"] for stage in stages] == [
        {"num_parallel_calls": 4, "function": "load"}, {"batch_size": 16}, {"buffer_size": -1},
    ]  # fmt: skip


# --- kept ---


def test_a_kept_record_is_read_until_the_journal_grows(tmp_path: Path) -> None:
    run = run_of(tmp_path, START, ProcessEnded(at=200.0, exit_code=0))
    store.save_record(run)
    kept = run.record_path.read_text().replace('"exit_code": 0', '"exit_code": 77')
    run.record_path.write_text(kept)
    assert load_record(run)["run"]["exit_code"] == 77
    run_of(tmp_path, HostSampled(at=201.0))
    assert load_record(run)["run"]["exit_code"] == 0


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', '{"version": 1, "journal_bytes": 0, "record": {"run": 3}}'])
def test_a_kept_record_that_is_none_is_made_anew(text: str, tmp_path: Path) -> None:
    RunFolder(tmp_path).record_path.write_text(text)
    assert set(load_record(RunFolder(tmp_path))) == SECTIONS


def test_what_the_process_held_before_its_training_is_kept_apart(tmp_path: Path) -> None:
    events = [
        HostSampled(at=101.0, rss_bytes=300, interval_s=1.0, cpu_cores=1.0, queued_cores=3.0),
        FitBegan(at=102.0, api="keras"),
        HostSampled(at=103.0, rss_bytes=900, interval_s=1.0, cpu_cores=1.0, queued_cores=1.0),
    ]
    text = load_record(run_of(tmp_path, START, *events))["figures"]
    assert (text["host_before_bytes"], text["host_peak_bytes"], text["queued_cores"]) == (300, 900, 2.0)


def test_how_much_steps_differ_among_each_other_is_known_of_several(tmp_path: Path) -> None:
    took = [0.1, 0.1, 0.2, 0.3, 0.5, 0.1, 0.1, 0.1]
    groups = [StepsEnded(at=110.0 + n, first=5 + n, last=5 + n, seconds=s, busy_s=s) for n, s in enumerate(took)]
    (tmp_path / "few").mkdir()
    assert load_record(run_of(tmp_path, START, *groups))["figures"]["step_spread_s"] == pytest.approx(0.1)
    assert load_record(run_of(tmp_path / "few", START, *groups[:3]))["figures"]["step_spread_s"] is None


def test_what_steps_hold_is_the_middle_of_their_fullest_moments(tmp_path: Path) -> None:
    """A window is as long as a step and more: shorter ones are put together. What came before the first step is none of it."""
    began = [HostSampled(at=104.0, interval_s=2.0, rss_bytes=1, max_rss_bytes=[5, 5]), steps(0, 0, 3.0, at=104.5)]
    fullest = [[700, 720], [650, 704], [600, 746], [702, 690], [650, 704]]
    looks = [HostSampled(at=105.5 + n, interval_s=1.0, rss_bytes=1, max_rss_bytes=most) for n, most in enumerate(fullest)]
    later = [steps(3 + n, 3 + n, 0.5, at=106.0 + n) for n in range(4)]
    after = HostSampled(at=112.0, interval_s=1.0, rss_bytes=1, max_rss_bytes=[9000, 9000])
    text = load_record(run_of(tmp_path, START, *began, *looks, *later, after))["figures"]
    assert text["host_typical_bytes"] == 704
    assert text["host_uncertainty_bytes"] == (720 - 704) / 2
    (tmp_path / "short").mkdir()
    short = load_record(run_of(tmp_path / "short", START, *began, looks[0], later[0]))["figures"]
    assert (short["host_typical_bytes"], short["host_uncertainty_bytes"]) == (None, None)


def test_what_the_compiler_left_is_what_it_had_left_when_steps_were_made(tmp_path: Path) -> None:
    events = [
        CompilationsCounted(at=110.0, grown_bytes=400),
        steps(0, 9, 1.0, at=111.0),
        CompilationsCounted(at=112.0, grown_bytes=900),
    ]
    assert load_record(run_of(tmp_path, START, *events))["figures"]["compiler_bytes"] == 400


def test_how_crowded_the_machine_was_is_told_of_the_training_alone(tmp_path: Path) -> None:
    started = HostSampled(at=101.0, interval_s=1.0, rss_bytes=1, cpu_cores=1.0)
    trained = HostSampled(at=121.0, interval_s=1.0, rss_bytes=1, cpu_cores=1.0, queued_cores=3.0)
    text = load_record(run_of(tmp_path, START, started, steps(0, 0, 1.0), trained))["figures"]
    assert text["crowded_share"] == 0.75
