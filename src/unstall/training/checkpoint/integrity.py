"""Whether a run can be resumed: its checkpoints are what was written, by their manifests, and its classes are the same. Standard
library only: it is asked before a worker starts."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import format_count, format_some
from unstall.config.settings import as_plain, from_stored
from unstall.journal.run_folder import RunFolder

if TYPE_CHECKING:
    from unstall.training.loop.datasets import TrainValData

VERSION = 1
ARRAYS, POSITION, MANIFEST = "arrays.bin", "position.json", "manifest.json"
PIECE = 4 * 2**20  # bytes that are hashed and written at once: between two pieces the training has its turn


class Damaged(Exception):
    """Why a folder is no checkpoint."""


def verify(folder: Path) -> None:
    """Reads every byte. Damaged where one is not as it was written."""
    for name, said in build_manifest(folder).items():
        digest, length = hashlib.sha256(), 0
        try:
            with (folder / name).open("rb") as file:
                while piece := file.read(PIECE):
                    digest.update(piece)
                    length += len(piece)
        except OSError as error:
            raise Damaged(f"{name} cannot be read: {error.strerror}") from None
        compare_with_manifest(name, said, length, digest.hexdigest())


def build_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise Damaged(f"it has no {MANIFEST}: it was never finished") from None
    except OSError as error:
        raise Damaged(f"{MANIFEST} cannot be read: {error.strerror}") from None
    except ValueError:
        raise Damaged(f"{MANIFEST} is cut off or damaged") from None
    version = manifest.get("version") if isinstance(manifest, dict) else None
    if version != VERSION:
        raise Damaged(f"expected version {VERSION} of checkpoints. Received: {version!r:.40}")
    files = manifest.get("files")
    if not isinstance(files, dict) or {name for name, said in files.items() if isinstance(said, dict)} != {ARRAYS, POSITION}:
        raise Damaged(f"{MANIFEST} does not name {ARRAYS} and {POSITION}")
    return files


def compare_with_manifest(name: str, said: dict[str, Any], length: int, sha256: str) -> None:
    if length != said.get("bytes"):
        raise Damaged(f"{name} has {length:,} bytes; it was written with {said.get('bytes')}")
    if sha256 != said.get("sha256"):
        raise Damaged(f"{name} is not what was written: its checksum differs")


# A run whose checkpoints are all damaged cannot go on, and must not begin anew either: its first epoch would overwrite the
# best weights, the last weights and the history. Standard library only: it is asked before a worker starts.


NAME = re.compile(r"step-(\d{9,})")


class AllDamaged(Exception):
    """There are checkpoints, and none can be read; why, of each."""

    def __init__(self, refused: Mapping[Path, str]) -> None:
        super().__init__(f"all of {len(refused)} checkpoints are damaged")
        self.refused = dict(refused)


def list_paths(folder: Path) -> list[Path]:
    """The newest first; nothing is read."""
    found = [path for path in folder.glob("step-*") if NAME.fullmatch(path.name)]
    return sorted(found, key=parse_step, reverse=True)


def parse_step(path: Path) -> int:
    named = NAME.fullmatch(path.name)
    return int(named[1]) if named else -1


def refuse_unresumable(run: RunFolder) -> None:
    """Before anything is written to the run. InvalidInputError where it has no sound checkpoint, and something that could
    be lost."""
    refused: dict[Path, str] = {}
    for path in list_paths(run.checkpoints_path):
        try:
            return verify(path)
        except Damaged as damaged:
            refused[path] = str(damaged)
    if any(run.checkpoints_path.glob(".step-*.before")):
        return None  # one that was about to be replaced: the worker takes it back
    if refused or _kept(run):
        raise InvalidInputError(explain_refusal(run, refused))
    return None


def explain_refusal(run: RunFolder, refused: Mapping[Path, str]) -> str:
    """What is wrong with each checkpoint, what is kept, and the ways on."""
    if refused:
        lines = [f"Cannot resume '{run.path}': all of its checkpoints are damaged. Expected one that can be read. Received:"]
        lines += [f"  {path.parent.name}/{path.name}: {why}" for path, why in refused.items()]
    else:
        lines = [
            f"Cannot resume '{run.path}': it has no checkpoint any more, though it has trained. Expected one in checkpoints/."
        ]
    kept = _kept(run)
    lines.append(
        f"The training was not started, as it would begin at step 0. Kept as they are: {', '.join(kept) or 'all files'}."
    )
    weights = next((path for path in (run.last_weights_path, run.best_weights_path) if path.exists()), None)
    lines.append(
        "What to do: put a sound copy of a checkpoint back, or begin a new run" + (" with the weights:" if weights else ":")
    )
    lines.append(f"  {_new_run(run, weights)}")
    return "\n".join(lines)


def _kept(run: RunFolder) -> list[str]:
    kept = [path.name for path in (run.best_weights_path, run.last_weights_path) if path.exists()]
    try:
        epochs = len(run.history_path.read_text(encoding="utf-8").splitlines()) - 1
    except (OSError, ValueError):
        return kept
    return [*kept, f"{run.history_path.name} ({format_count(epochs, 'epoch')})"]


def _new_run(run: RunFolder, weights: Path | None) -> str:
    """The command that trains what this run was begun for, in a new folder."""
    from unstall.config.options import format_arguments, is_config_here
    from unstall.config.sources import resolve

    given = as_plain(from_stored(run.read_settings(are_given=run.settings_given_path.exists()), f"{run.settings_path}: "))
    named = {name: given[name] for name in ("model", "data", "epochs") if given[name] is not None}
    usual = as_plain(resolve(named).settings)
    others = {name: value for name, value in given.items() if name not in named and value != usual[name]}
    plain = {**named, **others, **({"weights": str(weights)} if weights is not None else {})}
    ignores = ["--no-config"] if is_config_here() else []  # what it says has its part in the settings of the run already
    return f"unstall train {shlex.join([*ignores, *format_arguments(plain)])}"


# Classes must be the same as at the start of the run; the images may be others.


DATA = "data"  # of a checkpoint's position
FIX = "give it the same classes in the same order, or learn the others in a new run (--weights RUN/best.safetensors)"


def describe_data(learned: TrainValData) -> dict[str, Any]:
    return {"classes": list(learned.classes), "examples": len(learned.train.examples)}


def refuse_other_classes(position: dict[str, Any], learned: TrainValData) -> str:
    """What was learned under one name must not go on under another. Gives what is to be said of other images; else nothing."""
    before, now = position.get(DATA), describe_data(learned)
    if before is None:  # a checkpoint of an older version
        return ""
    if before["classes"] != now["classes"]:
        raise InvalidInputError(
            f"data: {explain_other_classes(before['classes'], now['classes'])}. Expected the same. To do: {FIX}."
        )
    if before["examples"] == now["examples"]:
        return ""
    images = format_count(now["examples"], "image")
    return f"The data has changed: {images} to learn from, where there were {before['examples']:,} before."


def explain_other_classes(before: Sequence[str], now: Sequence[str]) -> str:
    return f"the run has learned {_named(before)}; the data has {_named(now)} now"


def read_starting_classes(checkpoints: Path) -> list[str] | None:
    """By the newest checkpoint that says so; nothing is verified. None where none does."""
    for path in sorted(checkpoints.glob("step-*"), reverse=True) if checkpoints.is_dir() else ():
        try:
            return list(json.loads((path / POSITION).read_bytes())["position"][DATA]["classes"])
        except (OSError, KeyError, TypeError, ValueError):
            continue
    return None


def _named(classes: Sequence[str]) -> str:
    return f"{format_count(len(classes), 'class', 'classes')} ({format_some(classes)})"


# Files with their checksums, on the disk itself: what a manifest is made of.


def sync_folder(folder: Path) -> None:
    """That a name is in a folder is on the disk only when the folder is."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def write_hashed_file(path: Path, raw: bytes) -> dict[str, Any]:
    with path.open("wb", buffering=0) as file:
        hashed = HashingFile(file)
        hashed.write(raw)
        os.fsync(file.fileno())
    return hashed.summary


class HashingFile:
    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._digest, self.length = file, hashlib.sha256(), 0

    def write(self, raw: bytes | memoryview) -> None:
        for piece in _pieces(memoryview(raw)):
            self._digest.update(piece)
            done = 0
            while done < len(piece):  # a file without a buffer may take less than it is given
                done += self._file.write(piece[done:])
            self.length += len(piece)

    @property
    def summary(self) -> dict[str, Any]:
        return {"bytes": self.length, "sha256": self._digest.hexdigest()}


def _pieces(raw: memoryview) -> Iterator[memoryview]:
    return (raw[begin : begin + PIECE] for begin in range(0, len(raw), PIECE))
