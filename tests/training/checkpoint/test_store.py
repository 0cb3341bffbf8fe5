"""A checkpoint is complete or absent, whatever happens while it is written or afterwards. No framework is needed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstall.journal.events import CheckpointCompleted, CheckpointFailed, CheckpointRefused
from unstall.journal.reader import Journal, read_folder
from unstall.journal.run_folder import RunFolder
from unstall.probe.core import probe
from unstall.training.checkpoint import integrity, store
from unstall.training.checkpoint.integrity import AllDamaged
from unstall.training.checkpoint.store import MAX_SHARE, CheckpointInterval, Checkpoints, Outcome

FILES = (integrity.ARRAYS, integrity.POSITION, integrity.MANIFEST)


def arrays_of(step: int) -> dict[str, np.ndarray]:
    """Every kind of number that a step has, without shape and without members too."""
    random = np.random.default_rng(step)
    return {
        "weights/a": random.standard_normal((3, 5)).astype(np.float32),
        "iteration": np.array(step, np.int64),
        "seed": random.integers(0, 2**32, 2, np.uint32),
        "empty": np.zeros((0, 4), np.float32),
        "is_scaled": np.array([True, False]),
        "half": random.standard_normal(7).astype(np.float16),
        "turned": random.standard_normal((4, 6)).T,
    }


def saved(folder: Path, *steps: int, keep: int = 3) -> Checkpoints:
    checkpoints = Checkpoints(folder, keep)
    for step in steps:
        checkpoints.save(arrays_of(step), {"step": step, "epoch": 0})
    checkpoints.wait()
    return checkpoints


def assert_is(found: object, step: int) -> None:
    assert found is not None and found.step == step and found.position["step"] == step  # type: ignore[attr-defined]
    for name, array in arrays_of(step).items():
        there = found.arrays[name]  # type: ignore[attr-defined]
        assert there.dtype == array.dtype and there.shape == array.shape and there.tobytes() == array.tobytes(), name


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Callable[[], Journal]]:
    """What this process has journalled up to now."""
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    probe.set_current(probe.Probe(run))
    yield lambda: read_folder(run.path)
    probe.set_current(None)


def test_what_comes_back_is_what_was_saved_bit_by_bit(tmp_path: Path) -> None:
    assert_is(saved(tmp_path, 7).newest(), 7)


def test_without_a_checkpoint_there_is_none(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path / "not there", 2).newest() is None


def test_floats_of_the_position_come_back_bit_by_bit(tmp_path: Path) -> None:
    numbers = [0.1 + 0.2, 1e-308, 3.0, float("inf")]
    checkpoints = Checkpoints(tmp_path, 1)
    checkpoints.save({}, {"step": 1, "epoch": 0, "losses": numbers})
    checkpoints.wait()
    found = checkpoints.newest()
    assert found is not None and found.position["losses"] == numbers


def test_so_many_of_the_newest_are_kept(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1, 2, 3, 4, keep=2)
    assert [path.name for path in checkpoints.paths()] == ["step-000000004", "step-000000003"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000000003", "step-000000004"]


def test_while_the_loss_rises_the_newest_from_before_is_kept_as_well(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    kept = []
    for step, is_rising in enumerate([False, False, True, True, True, False, False], start=1):
        checkpoints.save(arrays_of(step), {"step": step, "epoch": 0, store.IS_RISING: is_rising})
        checkpoints.wait()
        kept.append([int(path.name.removeprefix("step-")) for path in checkpoints.paths()])
    assert kept == [[1], [2, 1], [3, 2], [4, 3, 2], [5, 4, 2], [6, 5], [7, 6]]


def test_a_checkpoint_holds_what_was_there_when_it_was_asked_for(tmp_path: Path) -> None:
    """As a backend does that hands out its own memory, and goes on."""
    memory = np.zeros(5_000_000, np.float32)
    checkpoints = Checkpoints(tmp_path, 1)
    checkpoints.save({"weights": memory.view()}, {"step": 1, "epoch": 0})
    memory += 1
    checkpoints.wait()
    found = checkpoints.newest()
    assert found is not None and not found.arrays["weights"].any()


def test_where_there_is_no_memory_for_a_thread_it_is_written_all_the_same(tmp_path: Path) -> None:
    before = threading.stack_size(2**46)  # more than any machine has
    try:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            threading.Thread(target=print).start()
        checkpoints = Checkpoints(tmp_path, 2)
        rows: list[Outcome] = []
        checkpoints.save(arrays_of(1), {"step": 1, "epoch": 0}, rows.append)
        assert checkpoints.wait()
    finally:
        threading.stack_size(before)
    assert [(each.step, each.error) for each in rows] == [(1, "")]
    assert_is(checkpoints.newest(), 1)


def test_a_saved_checkpoint_is_told_with_its_size(tmp_path: Path, journal: Callable[[], Journal]) -> None:
    saved(tmp_path / "checkpoints", 5)
    (event,) = journal().of(CheckpointCompleted)
    path = Path(event.path)
    assert event.step == 5 and path.name == "step-000000005"
    assert event.size_bytes == sum(file.stat().st_size for file in path.iterdir())
    assert 0 <= event.blocked_s <= event.seconds


# --- damage ---


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_single_wrong_byte_anywhere_is_noticed_and_the_one_before_is_taken(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("checkpoints")
    checkpoints = saved(folder, 1, 2)
    victim = folder / "step-000000002" / data.draw(st.sampled_from(FILES))
    raw = bytearray(victim.read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    victim.write_bytes(raw)
    found = checkpoints.newest()
    # A changed space of the manifest changes nothing that it says.
    if found is not None and found.step == 2:
        assert victim.name == integrity.MANIFEST
        assert_is(found, 2)
    else:
        assert_is(found, 1)


def spoil(checkpoint: Path) -> None:
    (checkpoint / integrity.ARRAYS).write_bytes(b"")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_torn_file_is_refused_and_told(tmp_path: Path, journal: Callable[[], Journal], name: str, share: float) -> None:
    checkpoints = saved(tmp_path / "checkpoints", 1, 2)
    victim = tmp_path / "checkpoints" / "step-000000002" / name
    os.truncate(victim, int(victim.stat().st_size * share))
    assert_is(checkpoints.newest(), 1)
    (refused,) = journal().of(CheckpointRefused)
    assert refused.path.endswith("step-000000002") and name in refused.why
    assert (refused.step, refused.instead_step) == (2, 1)  # what is lost


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    checkpoints = saved(tmp_path, 1, 2)
    (tmp_path / "step-000000002" / name).unlink()
    assert_is(checkpoints.newest(), 1)


def test_where_all_are_damaged_it_is_said_of_each_and_they_stay(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1, 2)
    for path in checkpoints.paths():
        spoil(path)
    with pytest.raises(AllDamaged) as raised:
        checkpoints.newest()
    assert list(raised.value.refused) == checkpoints.paths() == [tmp_path / "step-000000002", tmp_path / "step-000000001"]
    assert all("arrays.bin has 0 bytes" in why for why in raised.value.refused.values())


def test_a_checkpoint_of_another_version_is_refused_by_its_version(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path / "checkpoints", 1)
    manifest = checkpoints.paths()[0] / integrity.MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": 99}))
    with pytest.raises(AllDamaged) as raised:
        checkpoints.newest()
    assert "Received: 99" in raised.value.refused[checkpoints.paths()[0]]


def test_a_damaged_one_is_replaced_when_the_run_comes_by_again(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1, 2)
    (tmp_path / "step-000000002" / integrity.ARRAYS).write_bytes(b"")
    checkpoints.save(arrays_of(2), {"step": 2, "epoch": 0})
    checkpoints.wait()
    assert_is(checkpoints.newest(), 2)


def test_a_damaged_one_with_a_later_step_is_none_of_those_that_are_kept(tmp_path: Path) -> None:
    """The run goes on from 80 and saves at 90 and 95, not at 100 again: two sound ones are there at any time."""
    saved(tmp_path, 60, 80, 100)
    spoil(tmp_path / "step-000000100")
    checkpoints = Checkpoints(tmp_path, keep=2)
    assert_is(checkpoints.newest(), 80)
    for step, left in ((90, [90, 80]), (95, [95, 90])):
        checkpoints.save(arrays_of(step), {"step": step, "epoch": 0})
        checkpoints.wait()
        assert [path.name for path in checkpoints.paths()] == [f"step-{each:09d}" for each in left]
    spoil(tmp_path / "step-000000095")
    assert_is(Checkpoints(tmp_path, keep=2).newest(), 90)


def test_a_damaged_one_stays_until_the_next_is_there(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1, 2)
    spoil(tmp_path / "step-000000002")
    assert_is(checkpoints.newest(), 1)
    assert len(checkpoints.paths()) == 2


def test_what_came_after_a_divergence_is_withdrawn_unless_nothing_else_is_there(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 10, 20, 30)
    checkpoints.withdraw_from(20)
    assert_is(checkpoints.newest(), 10)
    checkpoints.withdraw_from(5)
    assert_is(checkpoints.newest(), 10)


# --- a disk that refuses ---


def full_disk(tmp_path: Path, size: str) -> Path:
    """A file system of that size, where one can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("needs the right to mount a tmpfs")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
    return folder


def test_a_full_disk_costs_the_checkpoint_and_nothing_else(tmp_path: Path, journal: Callable[[], Journal]) -> None:
    disk = full_disk(tmp_path, "1m")
    try:
        checkpoints = Checkpoints(disk / "checkpoints", keep=1)
        outcomes: list[Outcome] = []
        small, large = np.zeros(100_000, np.float32), np.zeros(400_000, np.float32)
        for step, array in ((1, small), (2, large), (3, small)):
            checkpoints.save({"weights": array}, {"step": step, "epoch": 0}, outcomes.append)
            checkpoints.wait()
            found = checkpoints.newest()
            assert found is not None and found.step == (1 if step == 2 else step)
        assert [bool(outcome.error) for outcome in outcomes] == [False, True, False]
        (failed,) = journal().of(CheckpointFailed)
        assert failed.step == 2 and failed.error == "No space left on device"
        assert [path.name for path in (disk / "checkpoints").iterdir()] == ["step-000000003"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_that_may_not_grow_costs_the_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    """Anybody can try this one: a limit on the size of files, in a process of its own."""
    program = """
        import resource, sys
        import numpy as np
        from pathlib import Path
        from unstall.training.checkpoint.store import Checkpoints

        checkpoints, outcomes = Checkpoints(Path(sys.argv[1]), 1), []
        checkpoints.save({"weights": np.zeros(1000, np.float32)}, {"step": 1, "epoch": 0}, outcomes.append)
        checkpoints.wait()
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        checkpoints.save({"weights": np.zeros(1_000_000, np.float32)}, {"step": 2, "epoch": 0}, outcomes.append)
        checkpoints.wait()
        print(checkpoints.newest().step, [outcome.error for outcome in outcomes])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)], capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.strip() == "1 ['', 'File too large']"


def test_a_folder_that_cannot_be_written_costs_the_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("in the way")
    outcomes: list[Outcome] = []
    checkpoints = Checkpoints(tmp_path / "checkpoints", 1)
    checkpoints.save(arrays_of(1), {"step": 1, "epoch": 0}, outcomes.append)
    checkpoints.wait()
    assert outcomes[0].error and checkpoints.newest() is None


# --- a process that dies ---

SAVER = """
    import sys
    import numpy as np
    from pathlib import Path
    from unstall.training.checkpoint.store import Checkpoints

    checkpoints = Checkpoints(Path(sys.argv[1]), 2)
    found = checkpoints.newest()
    for step in range(found.step + 1 if found else 1, 1_000_000):
        checkpoints.save({"weights": np.full(300_000, step, np.float32)}, {"step": step, "epoch": 0})
        print(step, flush=True)  # on its way; the one before is there
"""


def test_a_process_killed_while_saving_leaves_the_last_that_was_complete(tmp_path: Path) -> None:
    """Six times, at other moments; each goes on where the one before was killed."""
    random = np.random.default_rng(0)
    for _ in range(6):
        saver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SAVER), str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert saver.stdout is not None
        due_steps, _ = (int(saver.stdout.readline()) for _ in range(2))
        time.sleep(float(random.uniform(0, 0.05)))
        saver.send_signal(signal.SIGKILL)
        saver.communicate()
        found = Checkpoints(tmp_path, 2).newest()
        assert found is not None and found.step >= due_steps and (found.arrays["weights"] == found.step).all()


def test_one_that_was_to_be_replaced_is_taken_back_where_the_next_never_came(tmp_path: Path) -> None:
    """As after a kill between the two: it had been renamed."""
    checkpoints = saved(tmp_path, 1)
    (tmp_path / "step-000000001").rename(tmp_path / ".step-000000001.before")
    assert_is(checkpoints.newest(), 1)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001"]


# --- when one is due ---


def test_checkpoints_come_by_steps_where_the_settings_say_so() -> None:
    assert due_steps(range(1, 21)) == [5, 10, 15, 20]
    assert due_steps(range(13, 21)) == [15, 20], "a run that goes on"
    assert CheckpointInterval(every_s=1e9, every_steps=5).is_due(7, at_epoch_end=True)


def test_one_that_is_due_while_another_is_written_comes_right_after_that() -> None:
    assert due_steps(range(1, 21), busy=range(5, 12)) == [12, 15, 20]


def due_steps(steps: Iterable[int], busy: Container[int] = ()) -> list[int]:
    interval, found = CheckpointInterval(every_s=1e9, every_steps=5), []
    for step in steps:
        if interval.is_due(step) and step not in busy:
            interval.began(step)
            found.append(step)
    return found


def test_what_costs_much_is_done_seldom() -> None:
    interval = CheckpointInterval(every_s=10.0, every_steps=0)
    interval.ended(Outcome(1, Path(), seconds=9.0, cost_s=3.0))
    assert interval.interval_s == pytest.approx(3.0 / MAX_SHARE) and interval.is_stretched
    interval.ended(Outcome(2, Path(), seconds=9.0, cost_s=0.01))
    assert interval.interval_s == 10.0 and not interval.is_stretched


def test_the_end_of_an_epoch_has_one_unless_it_would_take_more_than_its_share() -> None:
    interval = CheckpointInterval(every_s=1e9, every_steps=0)
    interval.began(10)
    assert not interval.is_due(11) and interval.is_due(11, at_epoch_end=True)
    interval.ended(Outcome(10, Path(), seconds=99.0, cost_s=99.0))
    assert not interval.is_due(11, at_epoch_end=True)


def test_no_step_is_saved_twice_but_one_that_failed() -> None:
    interval = CheckpointInterval(every_s=0.0, every_steps=0)
    interval.began(10)
    assert not interval.is_due(10, at_epoch_end=True)
    interval.ended(Outcome(10, Path(), seconds=1.0, cost_s=0.0, error="No space left on device"))
    assert interval.is_due(10, at_epoch_end=True)
