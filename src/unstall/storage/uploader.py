"""Keeps the copy of a run in a bucket, as a process of its own: `python -m unstall.storage.uploader RUN PLACE`.

The training and its watcher write to a disk and never wait for a network. This process looks at the run's folder and puts what
is new into the bucket. It ends when its standard input is closed, also where whoever started it was killed: then it puts there
what is left, within its time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from unstall.base.errors import UnstallError
from unstall.base.files import make_new_files_private, make_private_folder, open_private
from unstall.journal.run_folder import RunFolder
from unstall.storage.bucket import Bucket, Entry, read_ahead
from unstall.storage.bucket_path import BucketPath
from unstall.storage.upload_checkpoints import FOLDER as CHECKPOINTS
from unstall.storage.upload_checkpoints import CheckpointUploader
from unstall.storage.upload_journal import FOLDER as JOURNAL
from unstall.storage.upload_journal import WORKERS, JournalUploader
from unstall.storage.urls import resolve_path

EVERY_S = 5.0  # the journal and small files: so much is lost at most, when a machine is taken away
CHECKPOINTS_EVERY_S = 1.0  # looked for; one that is there is on its way at once
FINISHES_WITHIN_S = 60.0  # once it was asked to end; an outage may last longer than anybody waits
AGAIN_AFTER_S = 1.0  # where the last attempt failed
VARIABLE = "UNSTALL_KEEP_EVERY_S"


class RunUploader:
    def __init__(self, run: Path, target: BucketPath) -> None:
        self._run, self._target = run, target
        self._ended = threading.Event()
        self._failed: set[str] = set()
        self._checkpoints: CheckpointUploader | None = None
        self._journals, self._files = JournalUploader(run, target), FileUploader(run, target)

    def keep_until_ended(self) -> bool:
        """Whether everything is there."""
        threads = [
            threading.Thread(target=self._repeat, args=("the journal", get_interval_s(), self._keep_small), daemon=True),
            threading.Thread(target=self._repeat, args=("checkpoints", CHECKPOINTS_EVERY_S, self._keep_large), daemon=True),
        ]
        for thread in threads:
            thread.start()
        sys.stdin.buffer.read()  # until whoever started us ends
        self._ended.set()
        until = time.monotonic() + FINISHES_WITHIN_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not self._failed and not any(thread.is_alive() for thread in threads)

    def _repeat(self, what: str, every_s: float, keep: Callable[[bool], None]) -> None:
        while True:
            at_last = self._ended.is_set()
            is_kept = self._try(what, keep, at_last)
            if at_last and is_kept:
                return
            if at_last:
                time.sleep(AGAIN_AFTER_S)  # until the time of the whole process is up
            else:
                self._ended.wait(every_s)

    def _try(self, what: str, keep: Callable[[bool], None], at_last: bool) -> bool:
        """An outage costs the copy for as long as it lasts, never the run."""
        try:
            keep(at_last)
        except (UnstallError, OSError) as error:
            if what not in self._failed:
                print_message(f"{what} cannot be kept in the bucket: {error} The run goes on, and it is tried again.")
            self._failed.add(what)
            return False
        if what in self._failed:
            self._failed.discard(what)
            print_message(f"{what}: kept in {self._target} again.")
        return True

    def _keep_small(self, at_last: bool) -> None:
        self._journals.keep()
        self._files.keep(large=False, at_last=at_last)

    def _keep_large(self, at_last: bool) -> None:
        if self._checkpoints is None:
            self._checkpoints = CheckpointUploader(self._run, self._target, print_message)
        self._checkpoints.keep()
        self._files.keep(large=True, at_last=at_last)


def get_interval_s() -> float:
    try:
        return max(0.1, float(os.environ.get(VARIABLE, "") or EVERY_S))
    except ValueError:
        return EVERY_S


def print_message(text: str) -> None:
    try:
        sys.stderr.write(f"unstall: {text}\n")
        sys.stderr.flush()
    except OSError:
        return  # nobody listens any more


def main(arguments: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when its standard input does
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    make_new_files_private()
    try:
        target = resolve_path(arguments[1])
        assert isinstance(target, BucketPath)
        whole = RunUploader(Path(arguments[0]), target).keep_until_ended()
    except UnstallError as error:
        print_message(str(error))
        return error.exit_code
    sys.stderr.flush()
    os._exit(0 if whole else 1)  # a request that hangs does not keep it


# The process as a supervisor sees it: started with the run and ended with it, and never waited for beyond its time.


COMMAND = (sys.executable, "-m", "unstall.storage.uploader")  # called with the run folder and the place in the bucket
HURRIES_S = 20.0  # a machine that is taken away gives half a minute, of which the checkpoint on the disk takes up to ten
WAITS_S = 65.0  # where nobody hurries: a little longer than the process itself goes on trying
SAYS_SO_AFTER_S = 5.0


@dataclass
class UploadState:
    """What is known of the copy. `has_time`: its end may be waited for, as nobody takes the machine away."""

    has_time: bool = False
    is_whole: bool = True


@contextmanager
def upload_run(run: RunFolder, say: Callable[[str], None]) -> Iterator[UploadState]:
    """Nothing for a run without a bucket."""
    place, kept = run.bucket, UploadState()
    if not place:
        yield kept
        return
    # A session of its own: Ctrl-C is for the training, and what it leaves behind is still to be kept.
    process = subprocess.Popen([*COMMAND, str(run.path), place], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield kept
    finally:
        kept.is_whole = _ended(process, kept.has_time, place, run, say)


def _ended(process: subprocess.Popen[bytes], has_time: bool, place: str, run: RunFolder, say: Callable[[str], None]) -> bool:
    """Whether everything is there; what is not is said."""
    assert process.stdin is not None
    try:
        process.stdin.close()
    except OSError:
        pass  # it has ended already, and has said why
    try:
        code = _waited_for(process, has_time, place, say)
    except subprocess.TimeoutExpired:
        say(f"not everything is in {place} yet: process {process.pid} tries for a minute at most. All of it is in {run.path}.")
        return False
    if code:
        say(f"not everything is in {place}. All of it is in {run.path}, on this disk.")
    return code == 0


def _waited_for(process: subprocess.Popen[bytes], has_time: bool, place: str, say: Callable[[str], None]) -> int:
    if not has_time:
        return process.wait(HURRIES_S)
    try:
        return process.wait(SAYS_SO_AFTER_S)
    except subprocess.TimeoutExpired:
        say(f"waiting until everything is in {place}, a minute at most …")
        return process.wait(WAITS_S - SAYS_SO_AFTER_S)


# The other files of a run in a bucket: settings, story, page, scores, weights, pictures; each put whole when it has changed.


LARGE_BYTES = 4 * 2**20
SAME_TIME_S = 0.001
LARGE_EVERY_S = 60.0  # weights of every epoch need not be there at once
NOT_KEPT = ("events-", "pulse-", "lock", "bucket.txt", "kept-in.txt", ".")
# What workers other than the first have is their journal; on another machine they have a folder of their own, and keep it.
FOLDERS_NOT_KEPT = frozenset({CHECKPOINTS, "checkpoints-set-aside", "compiled", JOURNAL, WORKERS})


class FileUploader:
    def __init__(self, run: Path, target: BucketPath) -> None:
        self._run, self._target = run, target
        self._seen: dict[str, tuple[int, int]] = {}  # size and time when it was put there
        self._put_at: dict[str, float] = {}

    def keep(self, large: bool, at_last: bool = False) -> None:
        """Those that are large, or those that are not; `at_last`: without waiting."""
        for name, path in list_files(self._run):
            try:
                status = path.stat()
            except OSError:
                continue  # it was replaced or deleted a moment ago
            now = (status.st_size, status.st_mtime_ns)
            is_due = at_last or time.monotonic() - self._put_at.get(name, -LARGE_EVERY_S) >= LARGE_EVERY_S
            if (status.st_size > LARGE_BYTES) == large and self._seen.get(name) != now and (is_due or not large):
                try:
                    self._target.bucket.write_file((self._target / name).key, path)
                except FileNotFoundError:
                    continue
                self._seen[name], self._put_at[name] = now, time.monotonic()


def list_files(run: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(run.rglob("*")):
        name = path.relative_to(run)
        if name.parts[0] in FOLDERS_NOT_KEPT or path.name.startswith(NOT_KEPT) or name.parts[0].startswith("."):
            continue
        if path.is_file():
            yield name.as_posix(), path


def fetch_files(source: BucketPath, run: Path, with_large: bool) -> None:
    """Those that the disk has not, or has otherwise. Large ones are weights: nobody needs them to look at a run."""
    wanted = [
        entry
        for entry in source.bucket.list_all(source.key)
        if is_wanted(entry.key.removeprefix(f"{source.key}/")) and (with_large or entry.size <= LARGE_BYTES)
    ]
    for _ in read_ahead(lambda entry: fetch_one(source.bucket, entry, run / entry.key.removeprefix(f"{source.key}/")), wanted, 4):
        pass


def fetch_one(bucket: Bucket, entry: Entry, path: Path) -> None:
    """What it was fetched from is known by its size and its time, which is that of the object."""
    try:
        status = path.stat()
        if status.st_size == entry.size and abs(status.st_mtime - entry.changed_at) < SAME_TIME_S:
            return
    except OSError:
        pass  # it is not there yet
    make_private_folder(path.parent)
    aside = path.with_name(f".{path.name}.part")
    with open(aside, "wb", opener=open_private) as file:
        file.writelines(bucket.read_large(entry.key, entry.size))
    if entry.changed_at:
        os.utime(aside, (entry.changed_at, entry.changed_at))
    aside.replace(path)


def is_wanted(name: str) -> bool:
    """Of a file in the bucket: no journal and no checkpoint, and no name that would lead out of the run's folder."""
    parts = name.split("/")
    own = parts[2:] if parts[0] == WORKERS else parts
    is_inside = all(part not in {"", ".", ".."} for part in parts)
    return is_inside and bool(own) and own[0] not in FOLDERS_NOT_KEPT and not own[-1].startswith(NOT_KEPT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
