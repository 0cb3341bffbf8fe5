"""Which images weights were trained on, and which were held out: stored with the weights, so that a score is not taken on images
that they have learned from.

An image is known by its content: its length and a piece of its begin and of its end, hashed, since to read all of a large
data set would take minutes. Where that is not known (a file in a bucket, which would be asked for over the network), it goes by
its name.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.files import write_whole
from unstall.base.formatting import format_count
from unstall.config.settings import Settings
from unstall.data.example import DataSet, Example, ImageSource
from unstall.detectors.weights.description import create_description
from unstall.detectors.weights.reader import read
from unstall.journal.run_folder import RunFolder
from unstall.storage import is_bucket
from unstall.training.loop.datasets import TrainValData

PIECE = 4096  # bytes of the begin, and of the end
KEY = 8  # bytes
NOT_KNOWN = bytes(KEY)
Mark = tuple[bytes, bytes]  # of a name, and of a content


class Marks:
    """Of some images."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self.all = sorted(set(marks))
        self._names = {name for name, _ in self.all}
        self._contents = {content for _, content in self.all} - {NOT_KNOWN}
        self._only_names = {name for name, content in self.all if content == NOT_KNOWN}

    @classmethod
    def unpack(cls, text: str) -> Marks:
        raw = base64.b64decode(text, validate=True)
        return cls((raw[at : at + KEY], raw[at + KEY : at + 2 * KEY]) for at in range(0, len(raw), 2 * KEY))

    def packed(self) -> str:
        return base64.b64encode(b"".join(name + content for name, content in self.all)).decode()

    def has(self, mark: Mark) -> bool:
        """By content; by name where the content of one of the two is not known."""
        name, content = mark
        return name in self._names if content == NOT_KNOWN else content in self._contents or name in self._only_names


@dataclass(frozen=True)
class TrainingImages:
    train: Marks  # also what weights that a run began with were trained on
    held_out: Marks
    facts: dict[str, Any] = field(default_factory=dict)  # counts, and how the images were divided

    def as_plain(self) -> dict[str, Any]:
        """For the description of a weights file."""
        return {**self.facts, "train": self.train.packed(), "held_out": self.held_out.packed()}


@dataclass(frozen=True)
class Overlap:
    """Rows of a data set."""

    trained_on: list[int]
    held_out: list[int]  # to be scored on by the training itself
    others: list[int]  # that the training knows nothing of


def read_training_images(stored: dict[str, Any] | None) -> TrainingImages | None:
    """What a weights file says; None: it says nothing of it, or nothing that can be read."""
    if not stored:
        return None
    try:
        train, held_out = (Marks.unpack(stored[name]) for name in ("train", "held_out"))
    except (KeyError, TypeError, ValueError):
        return None
    return TrainingImages(train, held_out, {name: value for name, value in stored.items() if name not in {"train", "held_out"}})


def describe_training_images(settings: Settings, learned: TrainValData) -> TrainingImages:
    """Of a run. The images' files are looked at: seconds for a hundred thousand of them on a disk."""
    held = learned.validation.examples if learned.validation is not None else ()
    inherited = _inherited(settings.weights)
    own = [compute_mark(example) for example in learned.train.examples]
    names = "\0".join(sorted(each.name for each in learned.train.examples))
    facts = {
        "train_images": len(own), "held_out_images": len(held), "how": learned.remark if settings.val_data is None else
        "scored on another data set", "seed": settings.seed, "val_split": settings.val_split,
        "digest": _hashed(names.encode()).hex(),
    }  # fmt: skip
    return TrainingImages(Marks([*own, *inherited]), Marks(compute_mark(each) for each in held), facts)


def keep(run: RunFolder, trained_on: TrainingImages, learned: TrainValData) -> None:
    """In the run's folder, by the names of the images. A disk that refuses is an OSError."""
    names = {"train": learned.train, "held_out": learned.validation}
    plain = {name: [each.name for each in data.examples] if data is not None else [] for name, data in names.items()}
    write_whole(run.split_path, json.dumps({**trained_on.facts, **plain}, indent=1) + "\n")


def find_overlap(trained_on: TrainingImages, data: DataSet) -> Overlap:
    found = Overlap([], [], [])
    for row, example in enumerate(data.examples):
        mark = compute_mark(example)
        is_held_out = trained_on.held_out.has(mark)
        rows_of = found.trained_on if trained_on.train.has(mark) else found.held_out if is_held_out else found.others
        rows_of.append(row)
    return found


def select_rows(data: DataSet, chosen: Sequence[int]) -> DataSet:
    return replace(data, examples=[data.examples[row] for row in chosen])


def compute_mark(example: Example) -> Mark:
    return _hashed(example.name.encode()), _content(example.image)


def _content(image: ImageSource | None) -> bytes:
    if image is None or is_bucket(image.path):
        return NOT_KNOWN
    try:
        with image.path.open("rb") as file:
            length = image.length if image.length is not None else file.seek(0, 2) - image.offset
            file.seek(image.offset)
            begin = file.read(min(PIECE, length))
            file.seek(image.offset + max(0, length - PIECE))
            return _hashed(length.to_bytes(8, "little", signed=True) + begin + file.read(min(PIECE, length)))
    except (OSError, ValueError):
        return NOT_KNOWN


def _hashed(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=KEY).digest()


def _inherited(weights: str | None) -> list[Mark]:
    """What the weights that a run begins with were trained on: it has learned from these images, too."""
    if weights is None:
        return []
    try:
        checkpoint = read(Path(weights) if not is_bucket(weights) else weights)
        before = read_training_images(create_description(checkpoint).trained_on if checkpoint.written_by == "Unstall" else None)
    except InvalidInputError:  # a run that goes on needs that file no more
        return []
    return before.train.all if before is not None else []


# Which images of a data set an evaluation scores: those that the weights were not trained on, where that is known.


UNKNOWN, HELD_OUT, ALL = "unknown", "held_out", "all"


@dataclass(frozen=True)
class ScoredImages:
    """As it is told, and written as JSON."""

    # unknown: the weights do not say what they were trained on, and all are scored; held_out: those that the training did not
    # learn from; all: of the data set, or of the split that was asked for
    images: str
    count: int  # that are scored
    total: int
    trained_on: int | None  # of all of these; None: it is not known

    @property
    def note(self) -> str:
        """For a person; empty where there is nothing to say."""
        if self.trained_on is None:
            return (
                "The weights file does not say which images it was trained on: whether these images are among them is not known."
            )
        if self.images == HELD_OUT:
            learned = "1 was" if self.trained_on == 1 else f"{self.trained_on:,} were"
            held_out = format_count(self.count, "held-out image")
            return f"Scoring {held_out} of {self.total:,}; {learned} trained on. --all-images scores all of them."
        if not self.trained_on:
            return ""
        return (
            f"Warning: the weights were trained on {self.trained_on:,} of the {format_count(self.total, 'image')} that are "
            "scored. The figures do not say how well the detector does on new images."
        )

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self), "note": self.note}


def choose_images(data: DataSet, stored: dict[str, Any], is_all: bool) -> tuple[DataSet, ScoredImages]:
    """`stored` is what the description of the weights says. `is_all`: nothing is to be left out.

    Where the data set has images that the training held out, these are scored, as the training has done; where it has others
    beside those that were trained on, these."""
    known, count = read_training_images(stored), len(data.examples)
    if known is None:
        return data, ScoredImages(UNKNOWN, count, count, None)
    found = find_overlap(known, data)
    trained_on, scored = len(found.trained_on), found.held_out or found.others
    if is_all or not trained_on or not scored:
        return data, ScoredImages(ALL, count, count, trained_on)
    return select_rows(data, scored), ScoredImages(HELD_OUT, len(scored), count, trained_on)
