"""What every driver asserts of a reading: arrays that fit each other, and messages that can be printed."""

from __future__ import annotations

from pathlib import Path

from unstall.base.errors import UnstallError
from unstall.data.example import DataSet
from unstall.data.formats import FORMATS

MAX_MESSAGE = 2_000  # characters: a message never repeats a whole file


def lay_out(folder: Path, usual: dict[str, bytes], changed: str, data: bytes) -> None:
    """The usual files, made once, and one of them as the input has it; after an input `restore` puts it back."""
    for name, content in usual.items():
        path = folder / name
        if name == changed or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if name == changed else content)


def restore(folder: Path, usual: dict[str, bytes], changed: str) -> None:
    (folder / changed).write_bytes(usual[changed])


def read(format_name: str, path: Path) -> None:
    """Recognises and reads; only an error of Unstall's own is a right answer besides a reading."""
    module = FORMATS.module(format_name)
    module.recognise(path)
    try:
        data: DataSet = module.read(path)
    except UnstallError as error:
        said(str(error))
        return
    assert_whole(data)


def assert_whole(data: DataSet) -> None:
    assert len(data.classes) == len(data.class_numbers)
    names = {example.name for example in data.examples}
    assert len(names) == len(data.examples)
    for example in data.examples:
        count = example.count
        assert example.boxes.shape == (count, 4)
        columns = (example.classes, example.crowd, example.difficult, example.truncated)
        assert all(column.shape == (count,) for column in columns)
        assert example.box_lines is None or example.box_lines.shape == (count,)
        assert count == 0 or -1 <= int(example.classes.min()) <= int(example.classes.max()) < len(data.classes)
    for finding in data.findings:
        said(f"{finding.origin}: {finding.message}")


def said(message: str) -> None:
    assert 0 < len(message) <= MAX_MESSAGE, len(message)
