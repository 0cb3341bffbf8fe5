"""Checkpoints in a bucket: each complete or absent.

    checkpoints/step-000000120/arrays.bin.00000, …00001      the files in parts, several on their way at once
    checkpoints/step-000000120/manifest.json                 last, on condition that it is not there: the server decides

A step without its manifest is none. One is deleted by its manifest first, and only when a newer one is there whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstall.base.errors import BucketError
from unstall.base.files import FOLDER_MODE, open_private, write_private
from unstall.storage.bucket import read_ahead
from unstall.storage.bucket_path import BucketPath
from unstall.storage.retry import Missing, NameTaken

FOLDER, MANIFEST = "checkpoints", "manifest.json"
LINKED = ".being-kept"  # files of the checkpoint on its way: the run may delete its own meanwhile
PART_BYTES = 16 * 2**20
AT_ONCE = 6  # parts on their way
VERSION = 1
_NAME = re.compile(r"step-(\d{9,})")


@dataclass(frozen=True)
class Part:
    file: str
    number: int
    begin: int
    end: int

    @property
    def name(self) -> str:
        return f"{self.file}.{self.number:05d}"


class CheckpointUploader:
    """Of one run: makes the bucket hold what the disk holds."""

    def __init__(self, run: Path, target: BucketPath, say: Callable[[str], None]) -> None:
        self._run, self._target, self._say = run, target / FOLDER, say
        self._kept: dict[str, bytes] = {}  # name to manifest, of those that we have put there
        self._before = complete(self._target)  # of an earlier life of the run
        self._alone: list[str] = []  # those of the disk, when all others were last deleted: a listing a second would be paid for

    def keep(self) -> None:
        """The newest first: it is what a run would go on from."""
        names = sorted(list_on_disk(self._run), reverse=True)
        for name in names:
            if self._manifest_of(name) not in (None, self._kept.get(name)):
                self._put(name)
        if names and names != self._alone and all(name in self._kept for name in names):
            self._delete_others(set(names))
            self._alone = names

    def _manifest_of(self, name: str) -> bytes | None:
        try:
            return (self._run / FOLDER / name / MANIFEST).read_bytes()
        except OSError:
            return None  # the run has deleted it meanwhile

    def _put(self, name: str) -> None:
        linked = self._linked(name)
        if linked is None:
            return
        try:
            own = (linked / MANIFEST).read_bytes()
            manifest = _manifest(own, linked)
            if self._is_there(name, manifest):
                self._kept[name] = own
                return
            self._put_parts(name, linked, json.loads(own)["files"])
            self._finish(name, manifest)
            self._kept[name] = own
        finally:
            shutil.rmtree(linked, ignore_errors=True)

    def _linked(self, name: str) -> Path | None:
        source, linked = self._run / FOLDER / name, self._run / LINKED
        shutil.rmtree(linked, ignore_errors=True)
        linked.mkdir()
        try:
            for file in source.iterdir():
                os.link(file, linked / file.name)
        except OSError:
            shutil.rmtree(linked, ignore_errors=True)
            return None
        return linked

    def _is_there(self, name: str, manifest: bytes) -> bool:
        """The same one. Another of the same step, of an earlier life of the run, is made no checkpoint before it is replaced."""
        try:
            found = (self._target / name / MANIFEST).read_bytes()
        except FileNotFoundError:
            return False
        if found != manifest and name in {*self._before, *self._kept}:
            (self._target / name / MANIFEST).unlink()
        return found == manifest

    def _put_parts(self, name: str, linked: Path, files: dict[str, Any]) -> None:
        def put(part: Part) -> None:
            with (linked / part.file).open("rb") as file:
                file.seek(part.begin)
                (self._target / name / part.name).write_bytes(file.read(part.end - part.begin))

        for file, said in files.items():
            if _sha256(linked / file) != said["sha256"]:
                raise BucketError(f"{self._target / name} is not written: {file} on the disk is not what its manifest says.")
        for _ in read_ahead(put, list(list_parts(linked)), AT_ONCE):
            pass
        there = {each.key.rpartition("/")[2]: each.size for each in (self._target / name).listed() or []}
        for part in list_parts(linked):
            if there.get(part.name) != part.end - part.begin:
                raise BucketError(f"{self._target / name / part.name} was written and is not there whole.")

    def _finish(self, name: str, manifest: bytes) -> None:
        path = self._target / name / MANIFEST
        try:
            path.bucket.write(path.key, manifest, must_be_new=True)
        except NameTaken:
            if path.read_bytes() != manifest:  # equal: the answer to our own writing was lost on its way
                raise BucketError(
                    f"{path} was written by another process meanwhile: is the run trained on two machines?"
                ) from None

    def _delete_others(self, names: set[str]) -> None:
        """Those that are older than ours, or were ours and have been withdrawn. A newer one that we have not put there is of
        another machine, which has gone on with the run: this one may be the ghost."""
        by_step: dict[str, list[str]] = {}
        for entry in self._target.bucket.list_all(self._target.key):
            step = entry.key.removeprefix(f"{self._target.key}/").partition("/")[0]
            if step not in names and _NAME.fullmatch(step) and (step < max(names) or step in self._kept):
                by_step.setdefault(step, []).append(entry.key)
        for keys in by_step.values():
            for key in sorted(keys, key=lambda each: not each.endswith(f"/{MANIFEST}")):
                self._target.bucket.delete(key)


def list_on_disk(run: Path) -> list[str]:
    try:
        return [path.name for path in (run / FOLDER).iterdir() if _NAME.fullmatch(path.name)]
    except OSError:
        return []


def complete(folder: BucketPath) -> list[str]:
    """Those that have a manifest, the newest first."""
    keys = [entry.key for entry in folder.bucket.list_all(folder.key) if entry.key.endswith(f"/{MANIFEST}")]
    return sorted((name for key in keys if _NAME.fullmatch(name := key.split("/")[-2])), reverse=True)


def list_parts(folder: Path) -> Iterator[Part]:
    for path in sorted(folder.iterdir()):
        if path.name != MANIFEST:
            size = path.stat().st_size
            for number, begin in enumerate(range(0, max(size, 1), PART_BYTES)):
                yield Part(path.name, number, begin, min(begin + PART_BYTES, size))


def _manifest(own: bytes, folder: Path) -> bytes:
    """What the disk's manifest says, and in which parts the files lie."""
    parts = [[part.name, part.file, part.end - part.begin] for part in list_parts(folder)]
    return json.dumps({"version": VERSION, "parts": parts, "manifest": own.decode()}, indent=1).encode()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- back to the disk ---


def fetch_newest(source: BucketPath, run: Path, say: Callable[[str], None]) -> str | None:
    """The newest that is whole, unless the disk has one as new. A damaged one is said and passed over."""
    for name in complete(source / FOLDER):
        if any(each >= name for each in list_on_disk(run)):
            return max(list_on_disk(run))
        try:
            _fetch(source / FOLDER / name, run / FOLDER / name)
        except (ValueError, KeyError, TypeError, OSError, Missing) as error:
            say(f"the checkpoint {source / FOLDER / name} is not whole ({error}): the one before it is taken.")
            continue
        return name
    return None


def _fetch(source: BucketPath, target: Path) -> None:
    said = json.loads((source / MANIFEST).read_bytes())
    if said["version"] != VERSION:
        raise ValueError(f"expected version {VERSION}. Received: {said['version']!r:.40}")
    aside = target.with_name(f".{target.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(mode=FOLDER_MODE, parents=True)
    try:
        fetched = read_ahead(lambda part: (source / part[0]).read_range(0, part[2]), said["parts"], AT_ONCE)
        for raw, (name, file, size) in zip(fetched, said["parts"], strict=True):
            if len(raw) != size:
                raise ValueError(f"{name} has {len(raw):,} bytes of {size:,}")
            with open(aside / Path(file).name, "ab", opener=open_private) as out:
                out.write(raw)
        for file, expected in json.loads(said["manifest"])["files"].items():
            if _sha256(aside / Path(file).name) != expected["sha256"]:
                raise ValueError(f"{file} is not what was written: its checksum differs")
        write_private(aside / MANIFEST, said["manifest"])
        aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
