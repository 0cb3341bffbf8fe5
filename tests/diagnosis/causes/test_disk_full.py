"""disk_full: a write failed for want of room."""

import pytest

from tests.diagnosis.builders import T0, journal, lib, py, started
from unstall.diagnosis.causes import disk_full, system_limit_reached
from unstall.diagnosis.verdict import Clear, Found, Unknown
from unstall.journal.events import DiskSeen, ErrorRaised, ProcessEnded

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)
FULL = DiskSeen(at=T0 + 9, path="/data/out", mount="/data", free_bytes=4096, total_bytes=10**9, free_inodes=100)
ROOM = DiskSeen(at=T0 + 9, path="/data/out", mount="/data", free_bytes=10**9, total_bytes=10**10, free_inodes=100)


def raised(message: str, kind: str = "OSError", fatal: bool = True) -> ErrorRaised:
    frames = [lib("keras/src/saving/saving_lib.py", "save_model"), py("train.py", "main", 45)]
    return ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=frames, fatal=fatal, phase="save")


@pytest.mark.parametrize(
    "message",
    [
        "[Errno 28] No space left on device",
        "/ckpt/state-8_temp/part; No space left on device [Op:SaveV2]",
        "[Errno 122] Disk quota exceeded: '/home/user/x'",
        "Can't synchronously write data (file write failed: errno = 28, error message = 'No space left on device')",
    ],
)
def test_found_in_what_the_error_says(message: str) -> None:
    verdict = disk_full.examine(journal(started(), raised(message), CRASHED))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:45"
    assert "while saving" in verdict.summary


def test_found_in_a_write_that_took_only_a_part_of_it_on_a_disk_without_room() -> None:
    verdict = disk_full.examine(journal(started(), raised("384000 requested and 305120 written"), FULL, CRASHED))
    assert isinstance(verdict, Found)
    assert "/data" in verdict.summary


def test_clear_in_such_a_write_where_there_is_room() -> None:
    assert isinstance(disk_full.examine(journal(started(), raised("384000 requested and 305120 written"), ROOM, CRASHED)), Clear)


def test_clear_on_a_disk_that_is_merely_nearly_full_and_for_errors_that_were_caught() -> None:
    assert isinstance(disk_full.examine(journal(started(), FULL, ProcessEnded(at=T0 + 10, exit_code=0))), Clear)
    caught = raised("[Errno 28] No space left on device", fatal=False)
    assert isinstance(disk_full.examine(journal(started(), caught, ProcessEnded(at=T0 + 10, exit_code=0))), Clear)


def test_unknown_without_the_probe() -> None:
    assert isinstance(disk_full.examine(journal(started("./train.sh"), CRASHED)), Unknown)


@pytest.mark.parametrize(
    ("message", "file"),
    [
        ("unable to allocate shared memory(shm) for file </torch_211_26_0>: No space left on device (28)", "torch/storage.py"),
        ("[Errno 28] No space left on device", "/usr/lib/python3.11/multiprocessing/synchronize.py"),
        ("[Errno 28] No space left on device: '/dev/shm/batch'", "numpy/core/memmap.py"),
        ("[Errno 28] inotify watch limit reached", "watchdog/observers/inotify_c.py"),
    ],
)
def test_shared_memory_and_watched_files_are_no_disk(message: str, file: str) -> None:
    frames = [lib(file, "make"), py("train.py", "main", 45)]
    error = ErrorRaised(at=T0 + 9, kind="OSError", message=message, frames=frames, fatal=True)
    assert isinstance(disk_full.examine(journal(started(), error, CRASHED)), Clear)
    limit = system_limit_reached.examine(journal(started(), error, CRASHED))
    assert isinstance(limit, Found)
    assert ("watches" if "inotify" in message else "/dev/shm") in limit.summary
