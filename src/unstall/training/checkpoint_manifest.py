"""The manifest of a checkpoint, and whether its files are what was written. Standard library only: it is asked before a worker
starts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

VERSION = 1
ARRAYS, POSITION, MANIFEST = "arrays.bin", "position.json", "manifest.json"
PIECE = 4 * 2**20  # bytes that are hashed and written at once: between two pieces the training has its turn


class Damaged(Exception):
    """Why a folder is no checkpoint."""


def verify(folder: Path) -> None:
    """Reads every byte. Damaged where one is not as it was written."""
    for name, said in manifest_of(folder).items():
        digest, length = hashlib.sha256(), 0
        try:
            with (folder / name).open("rb") as file:
                while piece := file.read(PIECE):
                    digest.update(piece)
                    length += len(piece)
        except OSError as error:
            raise Damaged(f"{name} cannot be read: {error.strerror}") from None
        hold_against(name, said, length, digest.hexdigest())


def manifest_of(folder: Path) -> dict[str, Any]:
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


def hold_against(name: str, said: dict[str, Any], length: int, sha256: str) -> None:
    if length != said.get("bytes"):
        raise Damaged(f"{name} has {length:,} bytes; it was written with {said.get('bytes')}")
    if sha256 != said.get("sha256"):
        raise Damaged(f"{name} is not what was written: its checksum differs")
