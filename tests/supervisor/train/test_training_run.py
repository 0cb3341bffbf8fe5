"""The supervisor of a training, over a worker that needs no framework: what befalls it, and what is done about it."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unstall.config.settings import Settings, as_plain
from unstall.journal import run_folder
from unstall.journal.events import (
    CheckpointCompleted,
    PlanMade,
    PlanUndone,
    PlanVerified,
    RepairsEnded,
    RunStarted,
    StackSampled,
)
from unstall.journal.reader import FolderTail, Journal, read_folder
from unstall.journal.run_folder import RunFolder

WORKER = Path(__file__).with_name("small_worker.py")
SUPERVISE = f"""
import sys
from pathlib import Path
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.run.program import RunOptions
from unstall.supervisor.train.training_run import train
sys.exit(train(RunFolder(Path(sys.argv[1])), RunOptions(), [sys.executable, {str(WORKER)!r}]))
"""


def a_run(*faults: dict[str, Any], **settings: Any) -> RunFolder:
    run = run_folder.create("train")
    plain = as_plain(Settings(**{"batch_size": 16, **settings}))
    run.write_settings(plain, are_given=True)
    run.write_settings(plain)
    (run.path / "fates.json").write_text(json.dumps(faults))
    return run


def supervisor(run: RunFolder) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", SUPERVISE, str(run.path)], stderr=subprocess.PIPE, text=True)


def supervised(run: RunFolder) -> tuple[int, str]:
    with supervisor(run) as process:
        _, said = process.communicate(timeout=240)
    return process.returncode, said


def whole(run: RunFolder) -> Journal:
    """Of all its workers."""
    return Journal(FolderTail(run.path).read())


def lives(run: RunFolder) -> list[dict[str, Any]]:
    """The settings that each worker began with."""
    return [json.loads(path.read_text()) for path in sorted(run.path.glob("started-*.json"))]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --- ends that are none of a fault ---


def test_a_training_that_ends_well_is_left_alone() -> None:
    run = a_run()
    code, said = supervised(run)
    assert code == 0, said
    assert len(lives(run)) == 1 and not whole(run).of(PlanMade)
    story = run.read_story()
    assert story is not None
    assert (story["state"], story["repairs"], story["repair_failed"]) == ("done", [], None)


def test_what_a_disk_did_not_take_in_the_end_is_said_last_and_by_the_exit_code() -> None:
    run = a_run({"at": 12, "exit": 81})
    code, said = supervised(run)
    assert code == 81 and len(lives(run)) == 1 and not whole(run).of(PlanMade)
    assert "trained to its end, but the disk did not take all" in said.splitlines()[-1] and "--resume" in said.splitlines()[-1]


def remove_in_use(folder: Path) -> None:
    """Deletes a folder into which others write meanwhile."""
    while True:
        try:
            shutil.rmtree(folder)
            return
        except FileNotFoundError:
            if not folder.exists():
                return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise


def test_a_folder_that_is_deleted_meanwhile_is_there_again_with_all_that_was_recorded() -> None:
    run = a_run({"step_s": 0.1})
    given = run.read_settings(are_given=True)
    with supervisor(run) as process:
        wait_until(lambda: bool(run.pulse_paths()) and bool(whole(run).of(CheckpointCompleted)))
        remove_in_use(run.path)
        _, said = process.communicate(timeout=240)
    assert process.returncode == 0 and said.count("was deleted while it runs") == 1, said
    assert run.read_settings() == run.read_settings(are_given=True) == given
    story = run.read_story()
    assert story is not None and story["state"] == "done"
    assert [event.step for event in whole(run).of(CheckpointCompleted)] == [10, 20, 30, 40] and run.pulse_paths()


def test_a_training_that_is_done_is_done_however_its_process_ends() -> None:
    run = a_run({"at_exit": 139})
    assert supervised(run)[0] == 0
    assert len(lives(run)) == 1


def test_a_users_mistake_is_never_repaired() -> None:
    run = a_run({"at": 0, "exit": 2})
    code, _ = supervised(run)
    assert code == 2
    assert len(lives(run)) == 1 and not whole(run).of(PlanMade)


def test_one_that_is_asked_to_end_saves_and_says_how_to_go_on() -> None:
    """Also the second worker of a run hears of signals."""
    run = a_run({"at": 15, "signal": signal.SIGKILL}, {"step_s": 0.5})
    process = supervisor(run)
    wait_until(lambda: len(lives(run)) == 2 and any(run.path.glob("pulse-*")))
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 75, said
    assert f"unstall train --resume {run.name}" in said
    assert len(lives(run)) == 2
    story = run.read_story()
    assert story is not None and story["state"] == "interrupted"
    assert supervised(run)[0] == 0  # and so it does


def test_two_do_not_train_one_run() -> None:
    run = a_run({"step_s": 0.5})
    with supervisor(run) as first:
        wait_until(lambda: bool(lives(run)))
        second = subprocess.run([sys.executable, "-c", SUPERVISE, str(run.path)], capture_output=True, text=True, check=False)
        assert second.returncode != 0
        assert str(first.pid) in second.stderr and "trained already" in second.stderr
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=240)


# --- faults ---


def test_a_worker_that_is_killed_goes_on_from_its_checkpoint() -> None:
    run = a_run({"at": 25, "signal": signal.SIGKILL})
    code, said = supervised(run)
    assert code == 0, said
    (plan,) = whole(run).of(PlanMade)
    assert (plan.remedy, plan.cause, plan.step, plan.from_step, plan.attempt) == (
        "resume_from_checkpoint",
        "worker_died",
        25,
        20,
        1,
    )
    assert [event.remedy for event in whole(run).of(PlanVerified)] == ["resume_from_checkpoint"]
    assert "SIGKILL" in said and "from step 20" in said
    story = run.read_story()
    assert story is not None
    assert story["state"] == "done" and story["repairs"][0]["helped"]


def test_out_of_memory_halves_what_is_computed_at_once_and_is_remembered() -> None:
    run = a_run({"at": 12, "exit": 76}, {"at": 12, "exit": 76})
    code, said = supervised(run)
    assert code == 0, said
    assert [life["micro_batch_size"] for life in lives(run)] == [None, 8, 4]
    assert {life["batch_size"] for life in lives(run)} == {16}
    assert run.read_settings(are_given=True)["micro_batch_size"] is None
    again = a_run(batch_size=12)
    code, said = supervised(again)
    assert code == 0, said
    assert [life["micro_batch_size"] for life in lives(again)] == [4]
    assert "4 images are computed at once rather than 12" in said


def test_memory_that_others_have_is_waited_for_and_whoever_wants_it_to_end_need_not_wait() -> None:
    of_host = {"at": 12, "exit": 76, "message": "MemoryError: Unable to allocate 3.05 GiB"}
    run = a_run(of_host, batch_size=1, num_input_workers=1, prefetch_bytes=1)
    with supervisor(run) as process:
        wait_until(lambda: bool(whole(run).of(PlanMade)))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=240)
    assert process.returncode == 75, said
    (plan,) = whole(run).of(PlanMade)
    assert (plan.remedy, plan.change, len(lives(run))) == ("wait_for_memory", {}, 1)
    code, said = supervised(run)  # whoever resumes it need not wait either
    assert code == 0, said


def test_a_divergence_goes_back_to_before_it_with_a_lower_rate() -> None:
    run = a_run({"at": 35, "exit": 78, "since": 18}, learning_rate=0.1)
    code, said = supervised(run)
    assert code == 0, said
    assert [life["learning_rate"] for life in lives(run)] == [0.1, 0.03]
    (plan,) = whole(run).of(PlanMade)
    assert plan.from_step == 10
    assert sorted(path.name for path in (run.path / "checkpoints-set-aside").iterdir()) == ["step-000000020", "step-000000030"]


def test_what_did_not_help_is_undone_when_another_remedy_has_its_turn() -> None:
    """Examples of a batch that stood alone are left out; then the losses are bad in a row: it was not the examples."""
    bad = {"at": 12, "exit": 77, "rows": [1, 2], "in_a_row": 1}
    worse = [{**bad, "rows": [row, row + 1], "in_a_row": 5} for row in (10, 20)]
    run = a_run(bad, *worse, learning_rate=0.1)
    code, said = supervised(run)
    assert code == 0, said
    assert [life["exclude_examples"] for life in lives(run)] == [[], [1, 2], [], []]
    assert [life["learning_rate"] for life in lives(run)] == [0.1, 0.1, 0.03, 0.009]
    assert [event.remedy for event in whole(run).of(PlanUndone)] == ["skip_bad_examples"]


def test_a_full_disk_is_said_once_and_stops_nothing() -> None:
    run = a_run({"disk_is_full": True})
    code, said = supervised(run)
    assert code == 0 and len(lives(run)) == 1
    assert said.count("a checkpoint could not be written: No space left on device") == 1


def test_a_worker_that_stands_still_is_ended_and_goes_on() -> None:
    run = a_run({"at": 25, "signal": signal.SIGSTOP})
    code, said = supervised(run)
    assert code == 0, said
    (plan,) = whole(run).of(PlanMade)
    assert (plan.remedy, plan.cause, plan.step) == ("resume_from_checkpoint", "training_stuck", 25)
    assert plan.from_step >= 20
    assert any(event.at < plan.at for event in whole(run).of(StackSampled))  # its stacks are kept


# --- an end of repairing ---


def test_the_third_time_at_the_same_place_it_stops_and_says_so() -> None:
    run = a_run(*3 * [{"at": 15, "signal": signal.SIGSEGV}])
    code, said = supervised(run)
    assert code == 128 + signal.SIGSEGV
    assert len(lives(run)) == 3
    (given_up,) = whole(run).of(RepairsEnded)
    assert given_up.cause == "worker_died" and str(run.path) in given_up.command
    assert "cannot be helped" in said and "small_worker.py" in said


@pytest.mark.parametrize("most", [0, 1])
def test_a_run_has_no_more_repairs_than_it_may_have(most: int) -> None:
    run = a_run({"at": 5, "signal": signal.SIGKILL}, {"at": 25, "signal": signal.SIGKILL}, max_restarts=most)
    code, _ = supervised(run)
    assert code == 128 + signal.SIGKILL
    assert len(lives(run)) == most + 1


def test_the_journal_of_a_repaired_run_is_that_of_its_newest_worker_and_of_all_repairs() -> None:
    run = a_run({"at": 25, "signal": signal.SIGKILL})
    assert supervised(run)[0] == 0
    assert len(whole(run).of(RunStarted)) == 2
    journal = read_folder(run.path)
    assert len(journal.of(RunStarted)) == 1 and len(journal.of(PlanMade)) == 1


def test_the_worker_is_not_left_behind_when_the_supervisor_has_ended() -> None:
    run = a_run({"step_s": 0.5})
    process = supervisor(run)
    wait_until(lambda: any(run.path.glob("pulse-*")))
    worker = int(next(run.path.glob("pulse-*")).name[len("pulse-") :])
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=240)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
