"""Which image has no end is looked for where an error has said that one is cut off."""

from pathlib import Path

import pytest

from unstall.journal.events import ErrorRaised
from unstall.sensors import image_files

JPEG = b"\xff\xd8\xff\xe0" + bytes(9000) + b"\xff\xd9"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(9000) + b"IEND\xaeB`\x82"
CUT_OFF = ErrorRaised(message="OSError: image file is truncated (7 bytes not processed)")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Four images, and a list that names them."""
    (tmp_path / "images").mkdir()
    files = {"a.jpg": JPEG, "b.png": PNG, "c.jpg": JPEG + b"\n" * 99, "d.jpg": JPEG, "e.jpg": b"no image"}
    for name, content in files.items():
        (tmp_path / "images" / name).write_bytes(content)
    (tmp_path / "train.csv").write_text("".join(f"images/{name},0,0,9,9,circle\n" for name in files))
    return tmp_path


@pytest.mark.parametrize(("name", "line"), [("a.jpg", 1), ("b.png", 2), ("d.jpg", 4)])
def test_the_one_without_an_end_is_found_with_the_line_that_lists_it(name: str, line: int, images: Path) -> None:
    path = images / "images" / name
    path.write_bytes(path.read_bytes()[:5000])
    checked = image_files.look(CUT_OFF, (), ["python", "train.py", "csv", "train.csv"], str(images))
    assert checked is not None and checked.damaged == [str(path)] and (checked.looked_at, checked.num_damaged) == (4, 1)
    assert checked.named_at == f"{images}/train.csv:{line}"


def test_images_that_the_program_has_met_are_looked_at(images: Path) -> None:
    (images / "images" / "d.jpg").write_bytes(JPEG[:5000])
    met = [f"images/{name}" for name in ("a.jpg", "d.jpg", "train.csv", "gone.jpg")]
    checked = image_files.look(CUT_OFF, met, ["python", "train.py"], str(images))
    assert checked is not None and checked.damaged == [str(images / "images" / "d.jpg")] and checked.looked_at == 2


def field(tag: int, data: bytes) -> bytes:
    length, size = b"", len(data)
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([tag]) + length + bytes([size]) + data


def record(image: bytes) -> bytes:
    """One of a TFRecord file: an example with a name and an image. Its checksums are not looked at."""
    entries = {b"image/encoded": image, b"image/filename": b"a.jpg"}
    features = b"".join(
        field(0x0A, field(0x0A, key) + field(0x12, field(0x0A, field(0x0A, value)))) for key, value in entries.items()
    )
    example = field(0x0A, features)
    return len(example).to_bytes(8, "little") + bytes(4) + example + bytes(4)


def test_the_one_in_a_record_file_is_found_with_its_number(images: Path) -> None:
    path = images / "train.record"
    path.write_bytes(record(JPEG) + record(PNG) + record(JPEG[:5000]) + record(b"no image"))
    (images / "pipeline.config").write_text(f'first line\ninput_path: "{path}"\n')
    met = ["train.record", "gone.record"]
    checked = image_files.look(CUT_OFF, met, ["python", "train.py", "--config=pipeline.config"], str(images))
    assert checked is not None and checked.damaged == [f"{path}, record 2"]
    assert (checked.looked_at, checked.num_damaged, checked.named_at) == (3, 1, f"{images}/pipeline.config:2")


def test_nothing_is_cut_off_where_all_have_an_end(images: Path) -> None:
    checked = image_files.look(CUT_OFF, (), ["python", "train.csv"], str(images))
    assert checked is not None and (checked.looked_at, checked.num_damaged, checked.damaged) == (4, 0, [])


def test_no_file_is_touched_where_the_error_is_about_something_else(images: Path) -> None:
    assert image_files.look(ErrorRaised(message="No space left"), ["images/a.jpg"], ["train.csv"], str(images)) is None
    assert image_files.look(CUT_OFF, (), ["python", "train.py"], str(images)) is None


def test_a_pipe_among_them_does_not_block(images: Path) -> None:
    import os

    os.mkfifo(images / "images" / "pipe.jpg")
    checked = image_files.look(CUT_OFF, ["images/pipe.jpg", "images/a.jpg"], [], str(images))
    assert checked is not None and checked.looked_at == 1
