"""`train_input_reader` and `eval_input_reader`: records and label maps, as far as they are where the config says."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from unstall.data import labelmap
from unstall.data.reading import Unparsable
from unstall.report.progress import Progress
from unstall.tfod import shards
from unstall.tfod.config import Node
from unstall.tfod.ledger import Ledger
from unstall.tfod.shards import Seen

VALIDATION_SHARE = 0.1  # of the data, where there is nothing to score on


@dataclass(frozen=True)
class ToSet:
    """Something that the user has to set before the run can begin."""

    setting: str
    value: str
    why: str


@dataclass
class Inputs:
    train: Seen | None = None
    classes: int | None = None  # of the label map
    to_set: list[ToSet] = field(default_factory=list)

    def images_to_learn(self, has_validation: bool) -> int | None:
        if self.train is None or not self.train.images:
            return None
        return self.train.images if has_validation else round((1 - VALIDATION_SHARE) * self.train.images)


@dataclass(frozen=True)
class Given:
    """Paths that were said beside the config, and go before its own."""

    data: str | None = None
    labels: str | None = None
    validation: str | None = None


def inputs(root: Node, given: Given, ledger: Ledger, progress: Progress | None = None) -> Inputs:
    found = Inputs()
    beside = Path(root.file).resolve().parent
    train, (first, *further) = (
        root.node("train_input_reader"),
        root.nodes("eval_input_reader") or [Node(root.file, "eval_input_reader")],
    )
    ledger.follow("format", "tfrecord", "records of the API")
    _records("data", train, given.data, beside, found, ledger)
    _label_map(train, given.labels, beside, found, ledger)
    _records("validation", first, given.validation, beside, found, ledger)
    labels = train.word("label_map_path") or first.word("label_map_path")
    for reader in (first, *further):
        same = reader.word("label_map_path") == labels
        ledger.same_if(same, reader, "label_map_path", instead="one label map holds, that of train_input_reader")
    for reader in further:
        ledger.left_out(reader, instead="one data set is scored, the first")
    if "data" in ledger.values:
        found.train = shards.seen(ledger.values["data"], progress)
    return found


def _records(setting: str, reader: Node, given: str | None, beside: Path, found: Inputs, ledger: Ledger) -> None:
    inner = reader.node("tf_record_input_reader")
    paths = inner.words("input_path")
    if given is not None:
        path = str(Path(given).absolute()) if "://" not in given else given
        ledger.set(setting, path, inner, "input_path", changed=f"said with --{setting}")
        return
    if not paths:
        if setting == "data":
            found.to_set.append(ToSet("data", "", "the config names no records"))
        return
    located = [shards.located(shards.as_pattern(path), beside) for path in paths]
    pattern = shards.one_pattern(located)
    path = pattern if pattern is not None else located[0]
    said = "as a pattern" if path not in (paths[0], str(beside / paths[0]), str(Path.cwd() / paths[0])) else ""
    if pattern is None:
        said = f"the first of {len(paths)}: no pattern holds just these; put them, or links to them, into one folder"
        found.to_set.append(
            ToSet(setting, path, f"the config names {len(paths)} paths, and one can be set: a folder with all of them")
        )
        ledger.set(setting, path, inner, "input_path", changed=said)
    else:
        ledger.set(setting, path, inner, "input_path", said=said)
    _if_not_there(setting, path, found)


def _label_map(reader: Node, given: str | None, beside: Path, found: Inputs, ledger: Ledger) -> None:
    if given is not None:
        path = str(Path(given).absolute()) if "://" not in given else given
        ledger.set("labels", path, reader, "label_map_path", changed="said with --labels")
    elif reader.word("label_map_path"):
        path = shards.located(reader.word("label_map_path"), beside)
        ledger.set("labels", path, reader, "label_map_path")
        _if_not_there("labels", path, found)
    else:
        return
    if not shards.files_of(path):
        return
    try:
        found.classes = len({item.number for item in labelmap.read(Path(path)) if item.number >= 1})
    except Unparsable as error:
        found.to_set.append(ToSet("labels", path, f"line {error.line}: {error}" if error.line else str(error)))
    except OSError as error:
        found.to_set.append(ToSet("labels", path, f"cannot be read: {error.strerror or error}"))


def _if_not_there(setting: str, path: str, found: Inputs) -> None:
    if shards.is_placeholder(path):
        found.to_set.append(ToSet(setting, path, "a placeholder"))
    elif "://" not in path and not shards.files_of(path) and not Path(path).is_dir():
        found.to_set.append(ToSet(setting, path, "nothing is there"))
