"""What a check of data found, kept for as long as the data does not change: by names, sizes and times of its files."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unstall
from unstall.base.files import get_cache_dir, write_whole
from unstall.config.settings import Settings
from unstall.storage import resolve_path
from unstall.storage.bucket_path import BucketPath

if TYPE_CHECKING:
    from unstall.data.example import DataSet

MAX_KEPT = 50  # findings of other data sets; the oldest go
LAYOUT = 3  # of what is kept; another one is not read


def get_cache_folder() -> Path:
    """In the user's cache directory."""
    return get_cache_dir() / "data-checks"


def name_of(data: DataSet, settings: Settings) -> str:
    """A hash of everything that the result depends on."""
    files = {data.path, *(example.image.path for example in data.examples if example.image is not None)}
    root = data.root or data.path
    files |= {root / example.origin.file for example in data.examples} | {root / file for file in data.files}
    files |= {resolve_path(settings.label_map)} if settings.label_map else set()
    facts = _in_bucket(data.path) if isinstance(data.path, BucketPath) else [(str(path), *_facts(path)) for path in sorted(files)]
    plain = json.dumps([unstall.__version__, LAYOUT, data.format, list(data.classes), len(data.examples), facts])
    return hashlib.sha256(plain.encode()).hexdigest()[:32]


def list_pictures(name: str) -> Path:
    """The folder of the pictures that belong to what was found."""
    return get_cache_folder() / name


def recall_findings(name: str, with_images: bool) -> dict[str, Any] | None:
    """None where nothing is known of the data as it is now, or less than is wanted."""
    try:
        kept: dict[str, Any] = json.loads((get_cache_folder() / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if kept.get("images_looked_at") or not with_images else None


def remember(name: str, found: dict[str, Any]) -> None:
    """Where it cannot be written, it is found again next time."""
    try:
        get_cache_folder().mkdir(parents=True, exist_ok=True)
        write_whole(get_cache_folder() / f"{name}.json", json.dumps(found))
        for old in sorted(get_cache_folder().glob("*.json"), key=lambda path: path.stat().st_mtime)[:-MAX_KEPT]:
            shutil.rmtree(list_pictures(old.stem), ignore_errors=True)
            old.unlink(missing_ok=True)
    except OSError:
        return


def _in_bucket(path: BucketPath) -> list[tuple[str, int, str]]:
    """All that lies there, by one listing: to ask for each file alone would take an hour."""
    folder = path if path.is_dir() else path.parent
    return sorted((entry.key, entry.size, entry.version) for entry in folder.bucket.list_all(folder.key))


def _facts(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns
