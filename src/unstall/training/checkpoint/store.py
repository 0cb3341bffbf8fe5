"""Checkpoints: each complete or absent, and never so dear that the training suffers.

    checkpoints = Checkpoints(run.checkpoints_path, keep=2)
    saved = checkpoints.newest()                       verified, or None
    checkpoints.save(step.arrays(), position)          returns at once; a thread writes, syncs, renames, reads back

The newest good one is deleted only when a newer one has been read back from the disk and found right. A disk that is full or
gone costs the checkpoint, never the training.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unstall.journal.events import CheckpointCompleted, CheckpointFailed, CheckpointRefused
from unstall.training.checkpoint import integrity
from unstall.training.checkpoint.integrity import (
    ARRAYS,
    MANIFEST,
    POSITION,
    VERSION,
    AllDamaged,
    Damaged,
    HashingFile,
    build_manifest,
    compare_with_manifest,
    parse_step,
    sync_folder,
    write_hashed_file,
)
from unstall.training.loop.instrumentation import emit

IS_RISING = "is_rising"  # of a position: the loss rose by and by, so that an older one may be worth more
ALIGNMENT = 64  # every array begins at a multiple of this, so that it can be used where it lies

Arrays = dict[str, npt.NDArray[Any]]


def write(folder: Path, arrays: Mapping[str, npt.NDArray[Any]], position: Mapping[str, Any]) -> int:
    """Everything into a new folder, on to the disk itself; how many bytes it takes. A disk that refuses is an OSError."""
    folder.mkdir(parents=True)
    files = {ARRAYS: _write_arrays(folder / ARRAYS, arrays)}
    index = {"arrays": _places(arrays), "position": dict(position)}
    files[POSITION] = write_hashed_file(folder / POSITION, json.dumps(index).encode())
    write_hashed_file(folder / MANIFEST, json.dumps({"version": VERSION, "files": files}, indent=1).encode())
    sync_folder(folder)
    return sum(path.stat().st_size for path in folder.iterdir())


def read(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays, which may not be written to, and the position."""
    contents: dict[str, npt.NDArray[np.uint8]] = {}
    for name, said in build_manifest(folder).items():
        try:
            contents[name] = np.fromfile(folder / name, np.uint8)
        except OSError as error:
            raise Damaged(f"{name} cannot be read: {error.strerror}") from None
        contents[name].flags.writeable = False
        compare_with_manifest(name, said, contents[name].size, hashlib.sha256(contents[name].data).hexdigest())
    try:
        index = json.loads(contents[POSITION].tobytes())
        arrays = {each["name"]: _array(contents[ARRAYS], each) for each in index["arrays"]}
        return arrays, index["position"]
    except (KeyError, TypeError, ValueError) as error:  # of another version, with proper checksums
        raise Damaged(f"{POSITION} is not as this version writes it: {error!r}") from None


def is_rising(folder: Path) -> bool:
    """Whether it says of itself that the loss rose; nothing else is read, nor verified."""
    try:
        return bool(json.loads((folder / POSITION).read_bytes())["position"].get(IS_RISING))
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        return False


# --- writing ---


def _write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    with path.open("wb", buffering=0) as file:
        hashed = HashingFile(file)
        for name, array in arrays.items():
            if array.dtype.kind not in "biufc":
                raise TypeError(f"'{name}': expected numbers. Received: {array.dtype}")
            hashed.write(bytes(-hashed.length % ALIGNMENT))
            hashed.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        os.fsync(file.fileno())
    return hashed.summary


def _places(arrays: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, Any]]:
    places, offset = [], 0
    for name, array in arrays.items():
        offset += -offset % ALIGNMENT
        places.append({"name": name, "kind": array.dtype.str, "shape": list(array.shape), "offset": offset})
        offset += array.nbytes
    return places


# --- reading ---


def _array(raw: npt.NDArray[np.uint8], place: dict[str, Any]) -> npt.NDArray[Any]:
    kind, shape = np.dtype(place["kind"]), tuple(place["shape"])
    length = math.prod(shape) * kind.itemsize
    array: npt.NDArray[Any] = raw[place["offset"] : place["offset"] + length].view(kind).reshape(shape)
    return array


# Checkpoints: each complete or absent, and never so dear that the training suffers.
#
#     checkpoints = Checkpoints(run.checkpoints_path, keep=2)
#     saved = checkpoints.newest()                       verified, or None
#     checkpoints.save(step.arrays(), position)          returns at once; a thread writes, syncs, renames, reads back
#
# The newest good one is deleted only when a newer one has been read back from the disk and found right. A disk that is full or
# gone costs the checkpoint, never the training.


ASIDE = "."  # what begins with this is being written, or on its way out
BEFORE = ".before"  # what ends with this is on its way out as soon as the next of the same step is in
MAX_SHARE = 0.03  # of the time that saving may take


@dataclass(frozen=True)
class LoadedCheckpoint:
    """A checkpoint that has been read and verified."""

    path: Path
    step: int
    arrays: Arrays
    position: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """Of one saving, told by the thread that did it."""

    step: int
    path: Path
    seconds: float
    cost_s: float  # that the training stood still, and that the thread computed: it may have been for a core that was needed
    error: str = ""  # empty: it is there and verified


Then = Callable[[Outcome], None]


class Checkpoints:
    def __init__(self, folder: Path, keep: int) -> None:
        self._folder, self._keep = folder, keep
        self._thread: threading.Thread | None = None
        self._refused: set[Path] = set()  # they are none of those that are kept

    def paths(self) -> list[Path]:
        """The complete ones, the newest first; nothing is read."""
        return integrity.list_paths(self._folder)

    # --- reading ---

    def newest(self) -> LoadedCheckpoint | None:
        """The newest that is sound; None: none was ever written. A damaged one is journalled and passed over, with what is lost
        by it. Where all are damaged, AllDamaged is raised: whoever began anew would write over what the run has left."""
        self._take_back()
        found, refused = None, {}
        for path in self.paths():
            try:
                arrays, position = read(path)
            except Damaged as damaged:
                refused[path] = str(damaged)
                continue
            found = LoadedCheckpoint(path, parse_step(path), arrays, position)
            break
        if refused and found is None:
            raise AllDamaged(refused)
        instead = 0 if found is None else found.step
        for path, why in refused.items():
            emit(CheckpointRefused(at=time.time(), path=str(path), why=why, step=parse_step(path), instead_step=instead))
        self._refused = set(refused)
        return found

    def withdraw_from(self, step: int) -> None:
        """Those of this step and later ones are not to be gone on from, unless there is no other."""
        paths = self.paths()
        for path in paths if any(parse_step(each) < step for each in paths) else ():
            if parse_step(path) >= step:
                _remove(path)

    # --- writing ---

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> bool:
        """Until what is being written is there; whether it is."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.is_busy

    def save(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        position: Mapping[str, Any],
        then: Then | None = None,
        began: float | None = None,
    ) -> None:
        """`position` has at least step and epoch. `began`: when the training stopped for it (monotonic). One at a time."""
        began = time.monotonic() if began is None else began
        self.wait()
        # A backend may hand out its own memory, and write the next step's numbers there.
        own = {name: array if array.flags.owndata else array.copy() for name, array in arrays.items()}
        writing = _CheckpointWriter(self, own, dict(position), then, began)
        thread = threading.Thread(target=writing.run, name="unstall-checkpoint", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no memory is left for another thread: then the training stands still for it
            writing.run()
        else:
            self._thread = thread

    def written(self, arrays: Arrays, position: dict[str, Any]) -> tuple[Path, int]:
        """The path and the bytes of a new checkpoint. Raises where it cannot be written, or is not there as it was written."""
        target = self._folder / f"step-{position['step']:09d}"
        aside, before = self._folder / f"{ASIDE}{target.name}.new", self._folder / f"{ASIDE}{target.name}{BEFORE}"
        self._take_back()
        for leftover in self._folder.glob(f"{ASIDE}step-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        try:
            size = write(aside, arrays, position)
            if target.exists():  # of a run that then went on from an older one
                target.rename(before)
            aside.rename(target)
            sync_folder(self._folder)
            integrity.verify(target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)  # where something failed: else it has its name by now
        shutil.rmtree(before, ignore_errors=True)
        self._refused.discard(target)
        self._remove_old()
        return target, size

    def _remove_old(self) -> None:
        """So many are kept as are sound, as far as is known: a damaged one with a later step must not count for one of them.

        While the loss rises by and by, the newest from before that is kept too: else there were nothing good to go back to.
        """
        sound = [path for path in self.paths() if path not in self._refused]
        kept, older = sound[: self._keep], sound[self._keep :]
        if all(is_rising(path) for path in kept):
            good = next((path for path in older if not is_rising(path)), None)
            older = [path for path in older if path != good]
        for old in (*older, *(path for path in self._refused if path.exists())):
            _remove(old)
        self._refused.clear()

    def _take_back(self) -> None:
        """One that was to be replaced by another of the same step, which never came."""
        for before in self._folder.glob(f"{ASIDE}step-*{BEFORE}"):
            target = before.with_name(before.name.removeprefix(ASIDE).removesuffix(BEFORE))
            if not target.exists():
                before.rename(target)


class _CheckpointWriter:
    """One checkpoint on its way, in a thread of its own."""

    def __init__(self, to: Checkpoints, arrays: Arrays, position: dict[str, Any], then: Then | None, began: float) -> None:
        self._to, self._arrays, self._position, self._then = to, arrays, position, then
        self._began, self._blocked_s = began, time.monotonic() - began

    def run(self) -> None:
        step, path, error = int(self._position["step"]), Path(), ""
        try:
            path, size = self._to.written(self._arrays, self._position)
        except (OSError, Damaged, MemoryError) as failed:  # a full disk, a server that is gone, a disk that forgets
            error = (failed.strerror if isinstance(failed, OSError) else None) or str(failed) or "out of memory"
            emit(CheckpointFailed(at=time.time(), step=step, path=str(path), error=error))
        seconds = time.monotonic() - self._began
        if not error:
            emit(
                CheckpointCompleted(
                    at=time.time(),
                    step=step,
                    epoch=int(self._position["epoch"]),
                    path=str(path),
                    size_bytes=size,
                    seconds=seconds,
                    blocked_s=self._blocked_s,
                )
            )
        if self._then is not None:
            self._then(Outcome(step, path, seconds, self._blocked_s + time.thread_time(), error))


class CheckpointInterval:
    """When the next checkpoint is due: as the settings say, but never so often that saving takes more than its share of time."""

    def __init__(self, every_s: float, every_steps: int) -> None:
        self._every_s, self._every_steps = every_s, every_steps
        self._cost_s = 0.0
        self._last = time.monotonic()
        self._last_step: int | None = None
        self._since: int | None = None  # the step that steps are counted from

    @property
    def interval_s(self) -> float:
        return max(self._every_s, self._cost_s / MAX_SHARE)

    @property
    def is_stretched(self) -> bool:
        return not self._every_steps and self.interval_s > self._every_s

    def is_due(self, step: int, at_epoch_end: bool = False) -> bool:
        """And stays so until it has begun: what is due while the one before is written comes right after that. At the end of an
        epoch it may be sooner, as far as its share of the time allows."""
        if self._since is None:
            self._since = step - 1
        if self.is_kept(step):
            return False
        if self._every_steps:
            return at_epoch_end or step // self._every_steps > self._since // self._every_steps
        interval_s = self._cost_s / MAX_SHARE if at_epoch_end else self.interval_s
        return time.monotonic() - self._last >= interval_s

    def is_kept(self, step: int) -> bool:
        """Or on its way, and nothing has gone wrong yet."""
        return step == self._last_step

    def began(self, step: int) -> None:
        self._last, self._last_step, self._since = time.monotonic(), step, step

    def ended(self, outcome: Outcome) -> None:
        self._cost_s = outcome.cost_s
        if outcome.error:
            self._last_step = None


def _remove(path: Path) -> None:
    """Renamed first: what bears the name of a checkpoint is never half of one."""
    aside = path.with_name(f"{ASIDE}{path.name}.old")
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)
