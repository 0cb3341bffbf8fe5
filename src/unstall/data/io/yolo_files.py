"""The two kinds of files of a YOLO data set: data.yaml, and the label file of one image."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from unstall.base.errors import InvalidInputError
from unstall.data.example import Example, Flags, ImageSource
from unstall.data.io.folder import Folder
from unstall.data.io.images import read_header_range
from unstall.data.io.reader import Unparsable, quote, read_text, read_text_range, split_lines
from unstall.storage import is_bucket
from unstall.storage.prefetch import Asked

MAX_YAML_BYTES = 1 << 20  # 10,000 names of classes; the parser is slow
NO_SPLITS = frozenset(
    {"path", "nc", "names", "download", "roboflow", "kpt_shape", "kpt_names", "flip_idx", "colors", "channels", "yaml_file"}
)


@dataclass(frozen=True)
class Settings:
    """What data.yaml says."""

    base: str = ""  # 'path'
    splits: dict[str, list[str]] = field(default_factory=dict)  # folders or lists of images
    names: dict[int, str] = field(default_factory=dict)
    count: int | None = None  # 'nc'
    pose_numbers: int = 0  # of the points of a body that follow each box: 'kpt_shape', multiplied; 0 for none


@dataclass(frozen=True)
class Label:
    number: float  # of the class, as it stands
    box: tuple[float, float, float, float]  # left, top, right, bottom as shares of the image
    line: int


def is_settings(text: str) -> bool:
    return bool(re.search(r"^\s*['\"]?names['\"]?\s*:", text, re.MULTILINE))


def read_settings(path: Path) -> Settings:
    """Every value is taken as text, so that a class may be called `no` or `2024-01-01`."""
    try:
        read = yaml.load(read_text(path, MAX_YAML_BYTES), Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise Unparsable(f"No YAML: {error.problem}.", line=mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise Unparsable(f"No YAML: {' '.join(str(error).split())}.") from None
    except RecursionError:
        raise Unparsable("Nested too deeply to be read. Expected names, train and val.") from None
    if not isinstance(read, dict):
        raise Unparsable(f"Expected keys with values (names, train, val). Received: {_kind(read)}.")
    base = read.get("path", "")
    return Settings(
        base=base if isinstance(base, str) else "",
        splits={key: _places(key, value) for key, value in read.items() if isinstance(key, str) and key not in NO_SPLITS},
        names=_names(read.get("names", [])),
        count=_count(read.get("nc")),
        pose_numbers=_pose_numbers(read.get("kpt_shape")),
    )


def _places(key: str, value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() and value != "null" else []
    places = value if isinstance(value, list) else []
    return [place for place in places if isinstance(place, str)]


def _names(value: object) -> dict[int, str]:
    pairs = dict(enumerate(value)) if isinstance(value, list) else value
    if not isinstance(pairs, dict):
        raise Unparsable(f"Expected a list of names, or numbers with names. Received: {_kind(value)}.", field="names")
    names: dict[int, str] = {}
    for key, name in pairs.items():
        if not re.fullmatch(r"\d{1,6}", str(key) if isinstance(key, str | int) else ""):
            raise Unparsable(f"Expected the number of a class. Received: {_shown(key)}.", field="names")
        if not isinstance(name, str):
            raise Unparsable(f"Expected the name of a class. Received: {_kind(name)}.", field=f"names[{key}]")
        names[int(key)] = name
    return names


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,6}", value) else None


def _pose_numbers(value: object) -> int:
    """Of [17, 3], as pose data sets have it: 51."""
    counts = [_count(each) for each in value] if isinstance(value, list) else []
    return (counts[0] or 0) * (counts[1] or 0) if len(counts) == 2 else 0


def _kind(value: object) -> str:
    """By its kind: a YAML file of a kilobyte may hold a value that takes gigabytes to print."""
    return (
        "keys with values"
        if isinstance(value, dict)
        else "a list"
        if isinstance(value, list)
        else "a text"
        if value
        else "nothing"
    )


def _shown(value: object) -> str:
    return quote(value) if isinstance(value, str) else _kind(value)


def read_labels(text: str, pose_numbers: int = 0) -> tuple[list[Label], list[tuple[int, str]]]:
    """The boxes of one image, and what is wrong: line, message."""
    labels, wrong = [], []
    for line, content in enumerate(split_lines(text), start=1):
        fields = content.split()
        if not fields:
            continue
        try:
            if "_" in content:  # Python would take 1_0 for 10
                raise ValueError
            labels.append(_label(fields, line, pose_numbers))
        except ValueError:
            wrong.append((line, _expected(fields)))
    return labels, wrong


def _label(fields: list[str], line: int, pose_numbers: int) -> Label:
    numbers = [float(text) for text in fields]
    if len(numbers) == 5 or (pose_numbers and len(numbers) == 5 + pose_numbers):
        number, x, y, width, height = numbers[:5]
        return Label(number, (x - width / 2, y - height / 2, x + width / 2, y + height / 2), line)
    if len(numbers) >= 7 and len(numbers) % 2:
        xs, ys = numbers[1::2], numbers[2::2]
        return Label(numbers[0], (min(xs), min(ys), max(xs), max(ys)), line)
    raise ValueError


def _expected(fields: list[str]) -> str:
    not_number = next((text for text in fields if "_" in text or not _is_number(text)), None)
    if not_number is not None:
        return f"Expected numbers: class, centre x, centre y, width, height. Received: {quote(not_number)}."
    expected = "5 numbers (class, centre x, centre y, width, height), or a class and at least 3 points"
    return f"Expected {expected}. Received: {len(fields)} numbers."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def locate_label_file(image: str) -> str:
    """labels/a.txt of images/a.jpg: the last folder of that name is exchanged; else the text file beside the image."""
    folder, _, name = image.rpartition("/")
    parts = folder.split("/") if folder else []
    folded = [part.lower() for part in parts]
    if "images" in folded:
        last = len(parts) - 1 - folded[::-1].index("images")
        parts[last] = "labels"
    return "/".join([*parts, f"{name.rpartition('.')[0]}.txt"])


def find_label_file(folder: Folder, image: str) -> str:
    """The one that is there, in whatever case its folder is written; empty where there is none."""
    return folder.find("", locate_label_file(image)).path or folder.find("", f"{image.rpartition('.')[0]}.txt").path


def read_label_ranges(folder: Folder, images: Sequence[str]) -> Iterator[Asked]:
    """What will be read of each image, where it lies in a bucket: its labels, then its header."""
    for image in images:
        if image:
            labels = find_label_file(folder, image)
            if labels:
                yield read_text_range(folder.root / labels)
            yield read_header_range(ImageSource(folder.root / image))


# --- as they are written ---


def format_labels(example: Example, kept: Flags, size: tuple[int, int]) -> str:
    """The label file of one image, with all digits of its numbers."""
    lines = []
    for number, (left, top, right, bottom) in zip(example.classes[kept].tolist(), example.boxes[kept].tolist(), strict=True):
        width, height = size
        numbers = ((left + right) / 2 / width, (top + bottom) / 2 / height, (right - left) / width, (bottom - top) / height)
        lines.append(" ".join([str(number), *(repr(value) for value in numbers)]) + "\n")
    return "".join(lines)


def format_settings(folders: Iterable[str], classes: Sequence[str]) -> str:
    """data.yaml, for these folders of images."""
    splits = [f"{folder.rpartition('/')[2]}: {folder}" for folder in folders if "/" in folder]
    if not splits:
        splits = ["# Not divided: unstall data split makes train, val and test."]
    names = [f"  {number}: {_in_yaml(name)}" for number, name in enumerate(classes)]
    return "\n".join([*splits, "", f"nc: {len(names)}", "names:" if names else "names: []", *names, ""])


def _in_yaml(name: str) -> str:
    text: str = yaml.safe_dump(name, default_style='"', allow_unicode=False, width=1 << 30)
    return text.strip()


# The folder of a YOLO data set whose data.yaml was named by itself: Ultralytics keeps such files apart from the images.
#
# Somebody who names the file means the images that it leads to, by `path` or by the folders of its splits; so they may lie
# elsewhere on this machine. Where a folder is named, nothing outside of it is looked at: whose data.yaml it is, nobody has
# said.


def resolve_target(file: Path, settings: Settings) -> tuple[Path, Settings]:
    """The folder that holds images and labels, and the settings as they are read from there."""
    beside = file.parent
    if is_bucket(beside) or any(_some_are_in(base, settings, beside) for base in (beside, beside / settings.base)):
        return beside, settings
    for base in _bases(beside, settings.base):
        if _some_are_in(base, settings, base) and base != Path(base.anchor):  # not the whole machine
            return base, replace(settings, base="")
    places = {place: _plain(beside / settings.base / place) for place in _candidate_roots(settings)}
    there = [path for path in places.values() if path.exists()]
    root = _above(there)
    if root is None:
        return beside, settings
    splits = {key: [str(places[place]) for place in found] for key, found in settings.splits.items()}
    return root, replace(settings, base="", splits=splits)


def refuse_what_leads_out(file: Path, settings: Settings) -> None:
    """Of a folder without images, whose data.yaml knows where they are."""
    root, _ = resolve_target(file, settings)
    if root != file.parent:
        raise InvalidInputError(
            f"There is no image in '{file.parent}': its {file.name} leads to '{root}'. Name the file itself, or that folder."
        )


def _bases(beside: Path, base: str) -> Iterator[Path]:
    """From the file, as everybody expects, and from where the command was typed, as Ultralytics reads it too."""
    if base:
        yield _plain(beside / Path(base).expanduser())
        yield _plain(Path(base).expanduser())


def _some_are_in(base: Path, settings: Settings, root: Path) -> bool:
    """Whether one of the splits is inside this folder."""
    found = (_plain(base / place) for place in _candidate_roots(settings))
    return any(path.exists() and path.is_relative_to(_plain(root)) for path in found)


def _candidate_roots(settings: Settings) -> list[str]:
    return [place for places in settings.splits.values() for place in places]


def _above(paths: list[Path]) -> Path | None:
    """The folder that holds all of them and their labels: that of images/train and images/val is above images/."""
    if not paths:
        return None
    shared = Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))
    if "images" in shared.parts:
        last = len(shared.parts) - 1 - shared.parts[::-1].index("images")
        shared = Path(*shared.parts[:last])
    return shared if shared != Path(shared.anchor) else None


def _plain(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow links)
