"""`train_input_reader` and `eval_input_reader`: records and label maps, as far as they are where the config says."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unstall.base.console import Progress
from unstall.base.errors import BucketNotFoundError
from unstall.data.io import label_map, record_features, tfrecord_file
from unstall.data.io.reader import Unparsable
from unstall.storage import is_bucket, resolve_path
from unstall.tfod.config import Node
from unstall.tfod.ledger import Ledger

VALIDATION_SHARE = 0.1  # of the data, where there is nothing to score on


@dataclass(frozen=True)
class MissingSetting:
    """Something that the user has to set before the run can begin."""

    setting: str
    value: str
    why: str


@dataclass
class Inputs:
    train: RecordSummary | None = None
    classes: int | None = None  # of the label map
    to_set: list[MissingSetting] = field(default_factory=list)
    links: dict[str, list[Path]] = field(default_factory=dict)  # a folder to be made, and the files that it is to hold links to

    def count_training_images(self, has_validation: bool) -> int | None:
        if self.train is None or not self.train.images:
            return None
        return self.train.images if has_validation else round((1 - VALIDATION_SHARE) * self.train.images)


@dataclass(frozen=True)
class PathOverrides:
    """Paths that were said beside the config, and go before its own."""

    data: str | None = None
    label_map: str | None = None
    val_data: str | None = None
    out: str | None = None  # the folder of the import: links to records may be put there


def convert_inputs(root: Node, given: PathOverrides, ledger: Ledger, progress: Progress | None = None) -> Inputs:
    found = Inputs()
    beside = resolve_path(root.file).resolve().parent
    train, (first, *further) = (
        root.node("train_input_reader"),
        root.nodes("eval_input_reader") or [Node(root.file, "eval_input_reader")],
    )
    ledger.follow("format", "tfrecord", "records of the API")
    _records("data", train, given, beside, found, ledger)
    _label_map(train, given.label_map, beside, found, ledger)
    _records("val_data", first, given, beside, found, ledger)
    labels = train.word("label_map_path") or first.word("label_map_path")
    for reader in (first, *further):
        same = reader.word("label_map_path") == labels
        ledger.same_if(same, reader, "label_map_path", instead="one label map holds, that of train_input_reader")
    for reader in further:
        ledger.left_out(reader, instead="one data set is scored, the first")
    if "data" in ledger.values:
        path = ledger.values["data"]
        files = found.links.get(path) or list_files(path, in_bucket=given.data is not None or is_bucket(beside))
        found.train = summarize_records(files, progress)
        if files and found.train is not None and not found.train.images:
            found.to_set.append(MissingSetting("data", path, "no example could be read in it"))
    return found


def _records(setting: str, reader: Node, given: PathOverrides, beside: Path, found: Inputs, ledger: Ledger) -> None:
    inner = reader.node("tf_record_input_reader")
    paths = inner.words("input_path")
    result: str | None = getattr(given, setting)
    if result is not None:
        ledger.set(setting, _absolute(result), inner, "input_path", changed=f"said with --{setting}")
        _if_not_there(setting, _absolute(result), found, in_bucket=True)
        return
    if not paths:
        if setting == "data":
            found.to_set.append(MissingSetting("data", "", "the config names no records"))
        return
    located = [locate(as_pattern(path), beside) for path in paths]
    pattern = join_patterns(located, is_bucket(beside))
    if pattern is None:
        _several(setting, inner, located, given, found, ledger)
        return
    written = {paths[0], str(beside / paths[0]), str(Path.cwd() / paths[0])}
    ledger.set(setting, pattern, inner, "input_path", said="" if pattern in written else "as a pattern")
    _if_not_there(setting, pattern, found, is_bucket(beside))


def _several(setting: str, inner: Node, paths: list[str], given: PathOverrides, found: Inputs, ledger: Ledger) -> None:
    """A folder of links where they are there; else the first is written, and the user has to set it."""
    files = [file for path in paths for file in list_files(path)]
    if given.out is not None and not is_bucket(given.out) and all(list_files(path) for path in paths):
        folder = str((Path(given.out) / f"{setting}-records").absolute())
        found.links[folder] = list(dict.fromkeys(files))
        ledger.set(
            setting, folder, inner, "input_path", said=f"one folder, with links to the {len(files)} files of {len(paths)} paths"
        )
        return
    why = f"the config names {len(paths)} paths, not all of which are there, and one can be set: a folder that holds their files"
    ledger.set(setting, paths[0], inner, "input_path", changed=why)
    found.to_set.append(MissingSetting(setting, paths[0], why))


def _label_map(reader: Node, given: str | None, beside: Path, found: Inputs, ledger: Ledger) -> None:
    in_bucket = given is not None or is_bucket(beside)
    if given is not None:
        path = _absolute(given)
        ledger.set("label_map", path, reader, "label_map_path", changed="said with --label-map")
    elif reader.word("label_map_path"):
        path = locate(reader.word("label_map_path"), beside)
        ledger.set("label_map", path, reader, "label_map_path")
    else:
        return
    _if_not_there("label_map", path, found, in_bucket)
    files = list_files(path, in_bucket)
    if not files:
        return
    try:
        found.classes = len({item.number for item in label_map.read(files[0]) if item.number >= 1})
        if not found.classes:
            found.to_set.append(MissingSetting("label_map", path, "it names no class"))
    except Unparsable as error:
        found.to_set.append(MissingSetting("label_map", path, f"line {error.line}: {error}" if error.line else str(error)))
    except OSError as error:
        found.to_set.append(MissingSetting("label_map", path, f"cannot be read: {error.strerror or error}"))


def _if_not_there(setting: str, path: str, found: Inputs, in_bucket: bool) -> None:
    if is_placeholder(path):
        found.to_set.append(MissingSetting(setting, path, "a placeholder"))
    elif is_of_windows(path):
        found.to_set.append(MissingSetting(setting, path, "a path of Windows"))
    elif "://" in path and not is_bucket(path):
        found.to_set.append(MissingSetting(setting, path, "expected a path, gs:// or s3://"))
    elif ("://" not in path or in_bucket) and not is_existing(path, in_bucket):
        found.to_set.append(MissingSetting(setting, path, "nothing is there"))


def _absolute(path: str) -> str:
    return path if "://" in path else str(Path(path).absolute())


# Where the records of an input reader are: `train-?????-of-00010`, `train@10`, several paths; and what can be seen of them.


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


def join_patterns(paths: Sequence[str], in_bucket: bool = False) -> str | None:
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
    there = {posixpath.join(folder, each.name) for each in list_files(joined, in_bucket)}
    wanted = {posixpath.join(folder, each.name) for path in patterns for each in list_files(path, in_bucket)}
    return joined if there == wanted else None


def locate(path: str, beside: Path) -> str:
    """As a settings file takes it: absolute. The API means it from where one stands; else it may be meant from the config."""
    if is_placeholder(path) or is_of_windows(path) or "://" in path:
        return path
    expanded = os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111 (with the variables, as one)
    places = [str(folder / expanded) for folder in (Path.cwd(), beside)]
    usual = places[1] if is_bucket(beside) else places[0]  # nobody stands in a bucket
    return next((place for place in places if list_files(place, in_bucket=True)), usual)


def list_files(path: str, in_bucket: bool = False) -> list[Path]:
    """Plain files that it names, here and now; in a bucket only where that is asked for, as nobody here may be let in there."""
    if is_placeholder(path) or ("://" in path and not (in_bucket and is_bucket(path))):
        return []
    place = resolve_path(path)
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


def is_existing(path: str, in_bucket: bool) -> bool:
    try:
        return bool(list_files(path, in_bucket)) or resolve_path(path).is_dir()
    except BucketNotFoundError:
        return False


def _is_named(path: Path) -> bool:
    return "record" in path.name or "-of-" in path.name


def name_links(files: Sequence[Path]) -> dict[str, Path]:
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
            features = record_features.parse_features(record.data)
            width, height = (int(features[f"image/{side}"][1][0]) for side in ("width", "height"))
        except (Unparsable, KeyError, IndexError, ValueError, TypeError):
            break  # not records of the API: said when they are read
        found.append((width, height))
    return found
