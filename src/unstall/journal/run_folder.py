"""A run folder holds all of one run: who started it, the journals of its processes, the pulse and the last verdicts.

Folders lie in the user's state directory (`UNSTALL_HOME` changes it), not in the working folder: a program that lists
its folder must see what it would see alone. Where no folder can be written, a temporary one is taken, and said.

A run that is kept in a bucket (`UNSTALL_HOME` or --out is gs:// or s3://) has a folder on the disk all the same, and a file in it
that says where its copy goes: the program writes to a disk, and never waits for a network.

Standard library only, syntax of Python 3.7: it also runs inside the watched program.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.files import FOLDER_MODE, FileLock, get_state_dir, make_private_folder, write_private, write_whole
from unstall.base.redact.text import redact_json
from unstall.journal.legacy_names import OLD_BUCKET_FILE, update_story
from unstall.journal.rank import read_rank
from unstall.journal.writer import is_remote

SHARED_MEMORY = Path("/dev/shm")
BUCKET_FILE = "bucket.txt"  # names the bucket that has a copy of the run
WORKERS = "workers"  # the folder of those that are not the first
BUCKET = re.compile(r"(gs|s3)://[^/]+(/.*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def get_home() -> Path:
    """Where runs are kept, on the disk. InvalidInputError where UNSTALL_HOME names no bucket, as gs:///runs of a variable
    not set."""
    explicit = os.environ.get("UNSTALL_HOME")
    if explicit and _SCHEME.match(explicit) and not BUCKET.fullmatch(explicit):
        raise InvalidInputError(
            f"UNSTALL_HOME: expected a folder, gs://BUCKET/FOLDER or s3://BUCKET/FOLDER. Received: '{explicit}'. "
            "Was a variable in it that is not set?"
        )
    if explicit:
        return name_folder(explicit)
    return _state() / "runs"


def make_home() -> None:
    """Where it is missing, with mode 0700: the names of runs, too, are their owner's alone. One that is there keeps its mode, and
    so do the folders above it that are not Unstall's."""
    folder = get_home()
    if not os.environ.get("UNSTALL_HOME") or get_bucket_home():
        make_private_folder(_state())
    make_private_folder(folder)


def get_bucket_home() -> str:
    """The bucket in which runs are kept, too; empty: none."""
    explicit = os.environ.get("UNSTALL_HOME", "").rstrip("/")
    return explicit if BUCKET.fullmatch(explicit) else ""


def name_folder(place: str) -> Path:
    """The folder itself; for a place in a bucket, the one on the disk that stands for it."""
    if not BUCKET.fullmatch(place):
        return Path(place)
    scheme, _, name = place.rstrip("/").partition("://")
    parts = [part for part in name.split("/") if part not in {"", ".", ".."}]
    return _state().joinpath("buckets", scheme, *parts)


def _state() -> Path:
    try:
        return get_state_dir()
    except RuntimeError:
        raise InvalidInputError(
            "Expected HOME, or a user with a home folder. Received: neither. Set UNSTALL_HOME to a folder."
        ) from None


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def journal_path(self, role: str, pid: int) -> Path:
        """role: inside (the program) or watcher."""
        return self.path / f"events-{role}-{pid}.jsonl"

    def of_worker(self, worker: int) -> RunFolder:
        """Where the journal and the pulse of a worker lie: of the first beside the rest, of another in a folder of its own, which
        is read like that of a run."""
        is_its_own = self.path.parent.name == WORKERS and self.path.name == str(worker)  # of a machine that has not the first
        return self if worker == 0 or is_its_own else RunFolder(self.workers_path / str(worker))

    @property
    def workers_path(self) -> Path:
        return self.path / WORKERS

    def pulse_path(self, pid: int) -> Path:
        # Mapped memory of a network file can block the program that stores into it.
        if is_remote(self.path) and SHARED_MEMORY.is_dir():
            return SHARED_MEMORY / f"unstall-{self.name}-{pid}.pulse"
        return self.path / f"pulse-{pid}"

    def pulse_paths(self) -> list[Path]:
        return sorted(self.path.glob("pulse-*")) or sorted(SHARED_MEMORY.glob(f"unstall-{self.name}-*.pulse"))

    @property
    def story_path(self) -> Path:
        return self.path / "story.json"

    @property
    def report_path(self) -> Path:
        """The page of the run."""
        return self.path / "report.html"

    @property
    def sources_path(self) -> Path:
        """The program's own source as it was, compressed JSON."""
        return self.path / "sources.json.gz"

    @property
    def record_path(self) -> Path:
        """What the run was made of, put together from its journals when it had ended."""
        return self.path / "record.json"

    def write_story(self, story: dict[str, Any]) -> None:
        """Written aside and renamed, so that a reader never sees half of it. A full disk loses it, nothing more."""
        aside = self.path / ".story.json.new"
        try:
            write_private(aside, redact_json(json.dumps(story, indent=1), indent=1))
            aside.replace(self.story_path)
        except OSError:
            return

    def read_story(self) -> dict[str, Any] | None:
        try:
            story = json.loads(redact_json(self.story_path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None
        return update_story(story) if isinstance(story, dict) else None

    # --- of a training by `unstall train` ---

    @property
    def settings_given_path(self) -> Path:
        """What the user asked for; never changed."""
        return self.path / "settings-given.json"

    @property
    def settings_path(self) -> Path:
        """What the next worker runs with: as given, with the changes of plans. Only the supervisor writes it."""
        return self.path / "settings.json"

    @property
    def checkpoints_path(self) -> Path:
        return self.path / "checkpoints"

    @property
    def best_weights_path(self) -> Path:
        return self.path / "best.safetensors"

    @property
    def last_weights_path(self) -> Path:
        return self.path / "last.safetensors"

    @property
    def score_path(self) -> Path:
        return self.path / "score.json"

    @property
    def scored_path(self) -> Path:
        """The epoch that was scored last."""
        return self.path / "last-score.json"

    @property
    def split_path(self) -> Path:
        """Which images are trained on and which are held out, by their names."""
        return self.path / "split.json"

    @property
    def history_path(self) -> Path:
        return self.path / "history.csv"

    @property
    def tensorboard_path(self) -> Path:
        return self.path / "tensorboard"

    @property
    def predictions_path(self) -> Path:
        return self.path / "predictions"

    @property
    def bad_batches_path(self) -> Path:
        return self.path / "bad-batches"

    @property
    def compiled_path(self) -> Path:
        """What a backend has compiled, for the next worker of the run."""
        return self.path / "compiled"

    def write_settings(self, plain: dict[str, Any], are_given: bool = False) -> None:
        """As `settings.as_plain` gives them. A disk that does not take them is an OSError."""
        path = self.settings_given_path if are_given else self.settings_path
        write_whole(path, json.dumps(plain, indent=1) + "\n")

    def read_settings(self, are_given: bool = False) -> dict[str, Any]:
        """For `settings.from_stored`: under the names that they had when they were written."""
        path = self.settings_given_path if are_given else self.settings_path
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidInputError(f"'{self.path}' is no run of `unstall train`: {path.name}: {error.strerror}.") from None
        except ValueError as error:
            raise InvalidInputError(f"'{path}': expected JSON. {error}") from None
        if not isinstance(plain, dict):
            raise InvalidInputError(f"'{path}': expected settings by their names. Received: {type(plain).__name__}")
        return plain

    # --- of a run that is kept in a bucket, too ---

    @property
    def bucket(self) -> str:
        """gs://… or s3://… of its copy; empty: it has none."""
        for name in (BUCKET_FILE, OLD_BUCKET_FILE):
            with suppress(OSError):
                return (self.path / name).read_text(encoding="utf-8").strip()
        return ""

    def keep_in(self, bucket: str) -> None:
        write_whole(self.path / BUCKET_FILE, bucket.rstrip("/") + "\n")

    def remove_if_empty(self) -> None:
        """For a run that could not start."""
        try:
            if (self.path / BUCKET_FILE).exists():
                (self.path / BUCKET_FILE).unlink()
            self.path.rmdir()
        except OSError:
            return


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:40] or "run"


def _own_name() -> str:
    """By which one of several machines is told from the others: a bucket makes no folders, and two of one name would be one."""
    event = read_rank(os.environ)
    worker = f"-worker{event.worker}" if event is not None and event.worker is not None else ""
    return worker + (f"-{_slug(os.uname().nodename)}" if get_bucket_home() else "")


def create(label: str) -> RunFolder:
    """A new folder, named by time and label. Falls back to a temporary folder where home cannot be written."""
    name = time.strftime("%Y-%m-%d-%H%M%S-") + _slug(label) + _own_name()
    for number in range(100):
        try:
            make_home()
            folder = get_home() / (name if number == 0 else f"{name}-{number + 1}")
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=False)
            run = RunFolder(folder)
            if get_bucket_home():
                run.keep_in(f"{get_bucket_home()}/{folder.name}")
            return run
        except FileExistsError:
            continue
        except (OSError, InvalidInputError):
            break
    return RunFolder(Path(tempfile.mkdtemp(prefix=f"unstall-{name}-")))


def explain_unreadable(folder: Path) -> str | None:
    """Why nobody can look into it, with the permission that is missing; None: one can, or there is no such folder."""
    try:
        os.stat(f"{folder}/.")
        with os.scandir(folder):
            return None
    except PermissionError as error:
        return f"{error.strerror}: {_missing_permission(folder)}"
    except OSError:
        return None


def _missing_permission(folder: Path) -> str:
    try:
        found = folder.stat()
    except OSError:
        return f"'{folder.parent}', or a folder above it, does not let you in (x)"
    return f"it needs r and x for you, and is {stat.filemode(found.st_mode)} of user {get_user_name(found.st_uid)}"


def get_user_name(number: int) -> str:
    import pwd  # not everywhere, and needed only here

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def refuse_unreadable(folder: Path, called: str = "run folder") -> None:
    why = explain_unreadable(folder)
    if why is not None:
        raise InvalidInputError(f"The {called} '{folder}' cannot be read: {why}.")


def list_runs() -> list[RunFolder]:
    """Oldest first."""
    try:
        folders = [path for path in get_home().iterdir() if path.is_dir() and not path.name.startswith(".")]
    except OSError:
        return []
    return [RunFolder(path) for path in sorted(folders, key=lambda path: path.name)]


# One supervisor for a run, and one worker: two that write the same checkpoints would ruin both.
#
# The lock is held by a file that is open in the supervisor and in its worker: it lasts until both have ended, however they did.


LOCK_FILE = "lock"


@contextmanager
def lock_run(run: RunFolder) -> Iterator[None]:
    with FileLock(run.path / LOCK_FILE, create=True) as lock:
        try:
            is_acquired = lock.acquire()
        except OSError:
            is_acquired = False
        if not is_acquired:
            holder = os.pread(lock.descriptor, 64, 0).decode(errors="replace").strip()
            raise InvalidInputError(
                f"Run '{run.name}' is being trained already, by process {holder or 'unknown'} or its worker. Wait or end it."
            )
        os.ftruncate(lock.descriptor, 0)
        os.pwrite(lock.descriptor, str(os.getpid()).encode(), 0)
        os.set_inheritable(lock.descriptor, True)
        yield


def is_held(run: Path) -> bool:
    """Whether a supervisor or a worker on this machine holds the lock of the run in this folder."""
    try:
        lock = FileLock(run / LOCK_FILE)
    except OSError:
        return False
    with lock:
        try:
            return not lock.acquire()
        except OSError:
            return True
