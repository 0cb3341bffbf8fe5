"""What is written and read again is the same, in every format and through every pair of them."""

from __future__ import annotations

import math
import string
import tempfile
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.dataset_files import picture, problems, same_boxes
from unstall.data import formats
from unstall.data.example import DataSet, Example, ImageSource, Origin
from unstall.data.io.columns import create_example as make_example
from unstall.data.tools.convert import write_aside

SIZES = ((64, 48), (7, 5), (640, 480))
# A share in 32 bits of the largest image: 640 / 2**24, and some for numbers far outside it.
WITHIN = {"coco": 1e-9, "voc": 0.0, "yolo": 1e-9, "tfrecord": 640 * 2.0**-22}
FLAGS = {
    "coco": ("crowd", "difficult", "truncated"),
    "voc": ("difficult", "truncated"),
    "yolo": (),
    "tfrecord": ("crowd", "difficult", "truncated"),
}
NAMES = (
    st.text(string.ascii_letters + string.digits + " ._-äß猫'\"&<>:,#{}[]\\", min_size=1, max_size=12)
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("images")
    paths = [folder / f"{width}.jpg" for width, _ in SIZES]
    for path, size in zip(paths, SIZES, strict=True):
        path.write_bytes(picture(*size))
    return paths


@st.composite
def examples(draw: st.DrawFn, classes: int) -> tuple[int, Example]:
    """Boxes of any kind, inside out and far outside included: nothing is put right on the way."""
    which = draw(st.integers(0, len(SIZES) - 1))
    count = draw(st.integers(0, 4)) if classes else 0
    edge = st.floats(-1000, 2000, allow_nan=False) | st.integers(0, 640).map(float)
    flags = st.lists(st.booleans(), min_size=count, max_size=count)
    made = make_example(
        name=draw(st.sampled_from(["a.jpg", "b.jpg", "sub/a.jpg", "c"])),
        image=None,
        size=SIZES[which],
        boxes=draw(st.lists(st.tuples(edge, edge, edge, edge), min_size=count, max_size=count)),
        classes=draw(st.lists(st.integers(0, max(0, classes - 1)), min_size=count, max_size=count)),
        origin=Origin("made"),
        crowd=draw(flags),
        difficult=draw(flags),
        truncated=draw(flags),
        split=draw(st.sampled_from(["", "train", "val", "test"])),
    )
    return which, made


@st.composite
def data_sets(draw: st.DrawFn) -> tuple[DataSet, list[int]]:
    classes = draw(st.lists(NAMES, max_size=4, unique=True))
    classes = [name for name in classes if name.lower() not in {"background", "bg"}]
    numbers = draw(st.lists(st.integers(1, 90), min_size=len(classes), max_size=len(classes), unique=True).map(sorted))
    made = draw(st.lists(examples(len(classes)), min_size=1, max_size=5))
    return DataSet(Path(), "made", tuple(classes), tuple(numbers), [one for _, one in made]), [which for which, _ in made]


def with_images(data: DataSet, which: list[int], images: list[Path]) -> DataSet:
    placed = []
    for one, number in zip(data.examples, which, strict=True):
        fields = {name: getattr(one, name) for name in one.__slots__}
        placed.append(Example(**{**fields, "image": ImageSource(images[number])}))
    return DataSet(data.path, data.format, data.classes, data.class_numbers, placed)


def is_same(one: Example, other: Example, before: DataSet, after: DataSet, within: float, flags: tuple[str, ...]) -> bool:
    return (
        (one.split, one.width, one.height, one.count) == (other.split, other.width, other.height, other.count)
        and same_boxes(one, other, within)
        and [before.classes[index] for index in one.classes] == [after.classes[index] for index in other.classes]
        and all(getattr(one, flag).tolist() == getattr(other, flag).tolist() for flag in flags)
        and one.image is not None
        and other.image is not None
        and one.image.read() == other.image.read()
    )


def assert_same(before: DataSet, after: DataSet, within: float, flags: tuple[str, ...]) -> None:
    """In any order: a format may sort its files in its own way."""
    assert len(after.examples) == len(before.examples)
    assert len({one.name for one in after.examples}) == len(after.examples)
    left = list(after.examples)
    for one in before.examples:
        at = next((at for at, other in enumerate(left) if is_same(one, other, before, after, within, flags)), None)
        assert at is not None, (one, left)
        del left[at]


@pytest.mark.parametrize("name", formats.FORMATS.names())
@given(made=data_sets())
@settings(max_examples=120, deadline=None)
def test_what_is_written_is_read_again(images: list[Path], name: str, made: tuple[DataSet, list[int]]) -> None:
    before = with_images(*made, images)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out"
        lost = formats.FORMATS.module(name).write(before, target)
        after = formats.read(target)
        assert_same(before, after, WITHIN[name], FLAGS[name])
    assert after.format == name
    assert after.classes == before.classes
    if name in {"coco", "tfrecord"}:
        assert after.class_numbers == before.class_numbers
    else:
        assert ("numbers of classes (the classes are kept)" in lost) == (
            before.class_numbers != tuple(range(1, len(before.classes) + 1))
        )
    empty = sum(not one.count for one in before.examples)
    assert [problem for problem in problems(after) if problem != "label_map_gaps"] == ["annotation_empty"] * empty
    for flag in ("crowd", "difficult", "truncated"):
        marked = sum(int(getattr(one, flag).sum()) for one in before.examples)
        assert flag in FLAGS[name] or not marked or marked in lost.values()


@pytest.mark.parametrize("names", list(permutations(formats.FORMATS.names())), ids=" ".join)
def test_through_all_formats_and_back(images: list[Path], tmp_path: Path, names: tuple[str, ...]) -> None:
    """Whatever the order, the boxes stay within what 32 bits of a share can say, and the classes stay in their order."""
    boxes = [(0.0, 0.0, 640.0, 480.0), (10.5, 20.25, 30.125, 40.0625), (100.0, 50.0, 90.0, 40.0), (-5.0, 1 / 3, 700.0, math.pi)]
    one = make_example(
        "a.jpg", ImageSource(images[2]), SIZES[2], boxes, [0, 1, 2, 1], Origin("made"), difficult=[True, False] * 2, split="train"
    )
    before = DataSet(tmp_path, "made", ("zebra", "ant", "10"), (3, 7, 9), [one])
    current = before
    for step, name in enumerate(names):
        write_aside(current, tmp_path / str(step), name)
        current = formats.read(tmp_path / str(step))
    assert_same(before, current, WITHIN["tfrecord"], ())
    assert current.classes == before.classes
