"""Where the records of an input reader are: `train-?????-of-00010`, `train@10`, several paths; and what can be seen of them."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unstall.base.errors import BucketNotFoundError
from unstall.base.progress import Progress
from unstall.data.io import tf_example, tfrecord_file
from unstall.data.io.reader import Unparsable
from unstall.storage import is_bucket
from unstall.storage import resolve_path as anywhere

COUNTED = re.compile(r"(?P<name>.+)@(?P<count>\d{1,5}|\*)(?P<ending>\.\w+)?")  # train.record@10: as the API's own tools write it
PLACEHOLDER = re.compile(r"PATH_TO_BE|TO_BE_CONFIGURED|YOUR_|<[^<>]*>", re.IGNORECASE)
OF_WINDOWS = re.compile(r"[A-Za-z]:(?![/\\]{2}[^/\\])")  # D:/records; not a scheme of one letter
GLOB = re.compile(r"[*?\[]")
MAX_COUNTED_IN_BUCKET_BYTES = 2**30
SAMPLE = 64  # records whose images' sizes are looked at


@dataclass(frozen=True)
class RecordSummary:
    """What the records hold, where they can be read from here."""

    files: int = 0
    images: int = 0
    lying: float | None = None  # the share of the images that are wider than high


def is_placeholder(path: str) -> bool:
    """Something that the user has to fill in, a variable that is not set among them."""
    return bool(PLACEHOLDER.search(path)) or "$" in os.path.expandvars(path)


def is_of_windows(path: str) -> bool:
    return bool(OF_WINDOWS.match(path)) and os.name != "nt"


def as_pattern(path: str) -> str:
    """'train.record@10' as 'train.record-?????-of-00010'."""
    found = COUNTED.fullmatch(path)
    if found is None:
        return path
    count = "?????" if found["count"] == "*" else f"{int(found['count']):05d}"
    return f"{found['name']}-?????-of-{count}{found['ending'] or ''}"


def one_pattern(paths: Sequence[str], in_bucket: bool = False) -> str | None:
    """A path or pattern that holds just these: names of the same length, in one folder. None: there is none."""
    patterns = list(dict.fromkeys(as_pattern(path) for path in paths))
    if len(patterns) == 1:
        return patterns[0]
    if len({posixpath.dirname(path) for path in patterns}) > 1 or len({len(path) for path in patterns}) > 1:
        return None
    joined = "".join(letters[0] if len(set(letters)) == 1 else "?" for letters in zip(*patterns, strict=True))
    folder = posixpath.dirname(joined)
    if GLOB.search(folder):
        return None
    there = {posixpath.join(folder, each.name) for each in files_of(joined, in_bucket)}
    wanted = {posixpath.join(folder, each.name) for path in patterns for each in files_of(path, in_bucket)}
    return joined if there == wanted else None


def locate(path: str, beside: Path) -> str:
    """As a settings file takes it: absolute. The API means it from where one stands; else it may be meant from the config."""
    if is_placeholder(path) or is_of_windows(path) or "://" in path:
        return path
    expanded = os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111 (with the variables, as one)
    places = [str(folder / expanded) for folder in (Path.cwd(), beside)]
    usual = places[1] if is_bucket(beside) else places[0]  # nobody stands in a bucket
    return next((place for place in places if files_of(place, in_bucket=True)), usual)


def files_of(path: str, in_bucket: bool = False) -> list[Path]:
    """Plain files that it names, here and now; in a bucket only where that is asked for, as nobody here may be let in there."""
    if is_placeholder(path) or ("://" in path and not (in_bucket and is_bucket(path))):
        return []
    place = anywhere(path)
    try:
        if place.is_file():
            return [place]
        if place.is_dir():
            return sorted(
                each for each in place.iterdir() if each.is_file() and _is_named(each) and tfrecord_file.is_record_file(each)
            )
        if GLOB.search(place.name) and place.parent.is_dir():
            return sorted(each for each in place.parent.glob(place.name) if each.is_file())
    except (OSError, ValueError, BucketNotFoundError):  # a name that no file can have; a bucket of another time
        pass
    return []


def is_there(path: str, in_bucket: bool) -> bool:
    try:
        return bool(files_of(path, in_bucket)) or anywhere(path).is_dir()
    except BucketNotFoundError:
        return False


def _is_named(path: Path) -> bool:
    return "record" in path.name or "-of-" in path.name


def link_names(files: Sequence[Path]) -> dict[str, Path]:
    """Names for links to files of several folders, by which they are read as records; not as shards of one another."""
    return {f"{number:05d}-{file.name.replace('-of-', '_of_')}.record": file for number, file in enumerate(files)}


def summarize_records(files: Sequence[Path], progress: Progress | None = None) -> RecordSummary | None:
    """None: there is nothing to be read here, or more in a bucket than is read to count it."""
    if not files or (is_bucket(files[0]) and sum(file.stat().st_size for file in files) > MAX_COUNTED_IN_BUCKET_BYTES):
        return None
    images = 0
    for number, file in enumerate(files):
        if progress:
            progress("counting records", number, len(files))
        try:
            images += tfrecord_file.count(file)
        except OSError:
            return None
    return RecordSummary(len(files), images, _lying(files))


def _lying(files: Sequence[Path]) -> float | None:
    """Of the first images of some of the files."""
    every = max(1, len(files) // SAMPLE)
    chosen = files[::every][:SAMPLE]
    sides = [side for file in chosen for side in _sides(file, max(1, SAMPLE // len(chosen)))]
    return sum(width > height for width, height in sides) / len(sides) if sides else None


def _sides(file: Path, count: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for record in tfrecord_file.read(file):
        if len(found) >= count or isinstance(record, tfrecord_file.BrokenRecord):
            break
        try:
            features = tf_example.features(record.data)
            width, height = (int(features[f"image/{side}"][1][0]) for side in ("width", "height"))
        except (Unparsable, KeyError, IndexError, ValueError, TypeError):
            break  # not records of the API: said when they are read
        found.append((width, height))
    return found
