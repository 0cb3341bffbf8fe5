"""A file of weights, whoever wrote it: PyTorch, safetensors, Keras or NumPy. Its first bytes say what it is, not its name."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from unstall.base.errors import InvalidInputError
from unstall.detectors.weights.formats import keras_files, numpy_files, safetensors_files, torch_files
from unstall.detectors.weights.formats.keras_files import translate_keys
from unstall.detectors.weights.tensors import Tensors, Unreadable
from unstall.storage import resolve_path
from unstall.storage.transfer import fetch_to_disk

EXPECTED = "PyTorch (.pth), safetensors, Keras (.keras, .h5), or NumPy (.npz, a pickle)"
HDF5 = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True)
class Checkpoint:
    path: Path
    written_by: str  # PyTorch, safetensors, Keras, NumPy or Unstall
    tensors: Tensors
    metadata: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a user should know of the network that they are of


def read(path: Path | str) -> Checkpoint:
    path = resolve_path(path)
    try:
        path = fetch_to_disk(path)
        if not path.is_file():
            found = "a folder" if path.is_dir() else "something else" if path.exists() else "nothing"
            raise InvalidInputError(f"'{path}': expected a file of weights. There is {found}.{_of_a_run(path)}")
        return _read(path)
    except Unreadable as error:
        raise InvalidInputError(f"'{path}' cannot be read as weights. {error}") from None
    except OSError as error:
        raise InvalidInputError(f"'{path}' cannot be read: {error.strerror or error}.") from None


def _of_a_run(path: Path) -> str:
    """Whoever names a run means its weights, and is told where these are."""
    there = [name for name in ("best.safetensors", "last.safetensors") if (path / name).is_file()]
    return f" It is a run, whose weights are '{path / there[0]}'." if there else ""


def _read(path: Path) -> Checkpoint:
    with path.open("rb") as file:
        head = file.read(10)
    if head.startswith(HDF5):
        tensors, notes = translate_keys(keras_files.read_h5(path))
        return Checkpoint(path, "Keras", tensors, notes=notes)
    if head.startswith(b"PK\x03\x04"):
        return _read_zip(path)
    # The first bytes of a safetensors file are the length of its header, and may be those of a pickle.
    is_pickle = head[:1] == b"\x80" and head[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}
    if is_pickle and int.from_bytes(head[:8], "little") > path.stat().st_size:
        found = torch_files.read_legacy(path)
        return Checkpoint(path, found.written_by, numpy_files.translate_keys(found.tensors), notes=found.notes)
    if head[8:9] == b"{":
        tensors, metadata = safetensors_files.read(path)
        return Checkpoint(path, "Unstall" if "unstall" in metadata else "safetensors", tensors, metadata)
    raise Unreadable(f"Expected a checkpoint of {EXPECTED}. {_said_of(head)}" if head else "It is empty.")


def _read_zip(path: Path) -> Checkpoint:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise Unreadable(f"Its zip is damaged or cut off: {error}.") from None
    if keras_files.WEIGHTS in names:
        tensors, notes = translate_keys(keras_files.read_archive(path))
        return Checkpoint(path, "Keras", tensors, notes=notes)
    if numpy_files.is_npz(names):
        return Checkpoint(path, "NumPy", numpy_files.translate_keys(numpy_files.read_npz(path)))
    found = torch_files.read_zip(path)
    return Checkpoint(path, found.written_by, found.tensors, notes=found.notes)


def _said_of(head: bytes) -> str:
    """What people name instead, known by its first bytes."""
    if head.startswith(b"version ht"):
        return "It is a pointer of Git LFS, not the file itself, which `git lfs pull` fetches."
    if head.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        return "It is a web page: what was downloaded is no file of weights."
    if head.startswith(b"\x93NUMPY"):
        return "It is one NumPy array; the tensors of a network, by their names, are an .npz."
    return f"It begins with {head!r}."
