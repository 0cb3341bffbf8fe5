"""`train_input_reader` and `eval_input_reader`: records and label maps, as far as they are where the config says."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from unstall.base.progress import Progress
from unstall.data.io import label_map
from unstall.data.io.reader import Unparsable
from unstall.storage import is_bucket
from unstall.storage import resolve_path as anywhere
from unstall.tfod import shards
from unstall.tfod.config import Node
from unstall.tfod.ledger import Ledger
from unstall.tfod.shards import RecordSummary

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

    def images_to_learn(self, has_validation: bool) -> int | None:
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


def inputs(root: Node, given: PathOverrides, ledger: Ledger, progress: Progress | None = None) -> Inputs:
    found = Inputs()
    beside = anywhere(root.file).resolve().parent
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
        files = found.links.get(path) or shards.files_of(path, in_bucket=given.data is not None or is_bucket(beside))
        found.train = shards.summarize_records(files, progress)
        if files and found.train is not None and not found.train.images:
            found.to_set.append(MissingSetting("data", path, "no example could be read in it"))
    return found


def _records(setting: str, reader: Node, given: PathOverrides, beside: Path, found: Inputs, ledger: Ledger) -> None:
    inner = reader.node("tf_record_input_reader")
    paths = inner.words("input_path")
    told: str | None = getattr(given, setting)
    if told is not None:
        ledger.set(setting, _absolute(told), inner, "input_path", changed=f"said with --{setting}")
        _if_not_there(setting, _absolute(told), found, in_bucket=True)
        return
    if not paths:
        if setting == "data":
            found.to_set.append(MissingSetting("data", "", "the config names no records"))
        return
    located = [shards.locate(shards.as_pattern(path), beside) for path in paths]
    pattern = shards.one_pattern(located, is_bucket(beside))
    if pattern is None:
        _several(setting, inner, located, given, found, ledger)
        return
    written = {paths[0], str(beside / paths[0]), str(Path.cwd() / paths[0])}
    ledger.set(setting, pattern, inner, "input_path", said="" if pattern in written else "as a pattern")
    _if_not_there(setting, pattern, found, is_bucket(beside))


def _several(setting: str, inner: Node, paths: list[str], given: PathOverrides, found: Inputs, ledger: Ledger) -> None:
    """A folder of links where they are there; else the first is written, and the user has to set it."""
    files = [file for path in paths for file in shards.files_of(path)]
    if given.out is not None and not is_bucket(given.out) and all(shards.files_of(path) for path in paths):
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
        path = shards.locate(reader.word("label_map_path"), beside)
        ledger.set("label_map", path, reader, "label_map_path")
    else:
        return
    _if_not_there("label_map", path, found, in_bucket)
    files = shards.files_of(path, in_bucket)
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
    if shards.is_placeholder(path):
        found.to_set.append(MissingSetting(setting, path, "a placeholder"))
    elif shards.is_of_windows(path):
        found.to_set.append(MissingSetting(setting, path, "a path of Windows"))
    elif "://" in path and not is_bucket(path):
        found.to_set.append(MissingSetting(setting, path, "expected a path, gs:// or s3://"))
    elif ("://" not in path or in_bucket) and not shards.is_there(path, in_bucket):
        found.to_set.append(MissingSetting(setting, path, "nothing is there"))


def _absolute(path: str) -> str:
    return path if "://" in path else str(Path(path).absolute())
