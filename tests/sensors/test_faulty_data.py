"""The data that an error speaks of without naming it."""

import struct
from pathlib import Path

import pytest

from unstall.data.io.tfrecord_file import compute_masked_crc
from unstall.journal.events import DataChecked, ErrorRaised
from unstall.sensors import faulty_data

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
    checked = faulty_data.look_for_damaged_images(CUT_OFF, (), ["python", "train.py", "csv", "train.csv"], str(images))
    assert checked is not None and checked.damaged == [str(path)] and (checked.looked_at, checked.num_damaged) == (4, 1)
    assert checked.named_at == f"{images}/train.csv:{line}"


def test_images_that_the_program_has_met_are_looked_at(images: Path) -> None:
    (images / "images" / "d.jpg").write_bytes(JPEG[:5000])
    met = [f"images/{name}" for name in ("a.jpg", "d.jpg", "train.csv", "gone.jpg")]
    checked = faulty_data.look_for_damaged_images(CUT_OFF, met, ["python", "train.py"], str(images))
    assert checked is not None and checked.damaged == [str(images / "images" / "d.jpg")] and checked.looked_at == 2


def field(tag: int, data: bytes) -> bytes:
    length, size = b"", len(data)
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([tag]) + length + bytes([size]) + data


def example_record(image: bytes) -> bytes:
    """One of a TFRecord file: an example with a name and an image. Its checksums are not looked at."""
    entries = {b"image/encoded": image, b"image/filename": b"a.jpg"}
    features = b"".join(
        field(0x0A, field(0x0A, key) + field(0x12, field(0x0A, field(0x0A, value)))) for key, value in entries.items()
    )
    example = field(0x0A, features)
    return len(example).to_bytes(8, "little") + bytes(4) + example + bytes(4)


def test_the_one_in_a_record_file_is_found_with_its_number(images: Path) -> None:
    path = images / "train.record"
    path.write_bytes(example_record(JPEG) + example_record(PNG) + example_record(JPEG[:5000]) + example_record(b"no image"))
    (images / "pipeline.config").write_text(f'first line\ninput_path: "{path}"\n')
    met = ["train.record", "gone.record"]
    checked = faulty_data.look_for_damaged_images(CUT_OFF, met, ["python", "train.py", "--config=pipeline.config"], str(images))
    assert checked is not None and checked.damaged == [f"{path}, record 2"]
    assert (checked.looked_at, checked.num_damaged, checked.named_at) == (3, 1, f"{images}/pipeline.config:2")


def test_nothing_is_cut_off_where_all_have_an_end(images: Path) -> None:
    checked = faulty_data.look_for_damaged_images(CUT_OFF, (), ["python", "train.csv"], str(images))
    assert checked is not None and (checked.looked_at, checked.num_damaged, checked.damaged) == (4, 0, [])


def test_no_file_is_touched_where_the_error_is_about_something_else(images: Path) -> None:
    assert (
        faulty_data.look_for_damaged_images(ErrorRaised(message="No space left"), ["images/a.jpg"], ["train.csv"], str(images))
        is None
    )
    assert faulty_data.look_for_damaged_images(CUT_OFF, (), ["python", "train.py"], str(images)) is None


def test_a_pipe_among_them_does_not_block(images: Path) -> None:
    import os

    os.mkfifo(images / "images" / "pipe.jpg")
    checked = faulty_data.look_for_damaged_images(CUT_OFF, ["images/pipe.jpg", "images/a.jpg"], [], str(images))
    assert checked is not None and checked.looked_at == 1


NAMED = "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 0.\nFileNotFoundError: Image Not Found {}"


def test_a_file_that_an_error_names_and_that_is_no_image_is_told(images: Path) -> None:
    path = images / "images" / "e.jpg"
    for message in (NAMED.format(path), f"could not read images/e.jpg ({path})", f"Unable to decode image '{path}'."):
        checked = faulty_data.look_for_damaged_images(ErrorRaised(message=message), (), ["python", "train.csv"], str(images))
        assert checked is not None and (checked.damaged, checked.looked_at, checked.num_damaged) == ([str(path)], 1, 1)
        assert checked.what == "no beginning of an image" and checked.named_at == f"{images}/train.csv:5"


@pytest.mark.parametrize("content", [JPEG, PNG, b"GIF89a" + bytes(99), b"BM" + bytes(99), b"RIFF\x01\x02\x03\x04WEBPVP8 "])
def test_nothing_is_told_of_a_file_that_begins_as_an_image_whatever_its_name(content: bytes, images: Path) -> None:
    path = images / "images" / "e.jpg"
    path.write_bytes(content)
    assert faulty_data.look_for_damaged_images(ErrorRaised(message=NAMED.format(path)), (), [], str(images)) is None


def test_nothing_is_told_of_a_named_file_that_is_not_there_or_that_the_error_has_read(images: Path) -> None:
    for message in (NAMED.format(images / "gone.jpg"), f"wrote {images}/images/e.jpg, then: expected 3 channels, got 4"):
        assert faulty_data.look_for_damaged_images(ErrorRaised(message=message), (), [], str(images)) is None


def record(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", compute_masked_crc(head)) + data + struct.pack("<I", compute_masked_crc(data))


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Three files of three records; each begins its last record at another byte."""
    paths = [tmp_path / f"train-{number}.record" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(b"".join(record(bytes(100 + number)) for _ in range(3)))
    return paths


def look(shards: list[Path], offset: int, words: str = "truncated") -> DataChecked | None:
    error = ErrorRaised(message=f" {words} record at {offset}' failed with Read less bytes than requested")
    return faulty_data.look_for_damaged_records(error, [path.name for path in shards], str(shards[0].parent))


def test_a_file_that_is_cut_off_is_found(shards: list[Path]) -> None:
    shards[1].write_bytes(shards[1].read_bytes()[:-30])
    checked = look(shards, 2 * 117)
    assert checked is not None and checked.damaged == [str(shards[1])] and (checked.looked_at, checked.num_damaged) == (3, 1)


@pytest.mark.parametrize("at", [118, 118 + 12])  # where the record begins, or its data
@pytest.mark.parametrize("byte", [2, 9, 50, 113])
def test_a_wrong_checksum_is_found(byte: int, at: int, shards: list[Path]) -> None:
    content = bytearray(shards[2].read_bytes())
    content[118 + byte] ^= 1
    shards[2].write_bytes(content)
    checked = look(shards, at, "corrupted")
    assert checked is not None and checked.damaged == [str(shards[2])]


def test_no_file_is_named_where_none_is_damaged_there(shards: list[Path]) -> None:
    checked = look(shards, 117)
    assert checked is not None and checked.num_damaged == 0


def test_nothing_is_said_where_one_cannot_be_looked_at(shards: list[Path]) -> None:
    shards[1].write_bytes(shards[1].read_bytes()[:-30])
    shards[0].unlink()
    assert look(shards, 2 * 117) is None
    assert faulty_data.look_for_damaged_records(ErrorRaised(message="no space left"), [str(shards[1])], "") is None


REFUSED = ErrorRaised(kind="IndexError", message="Target 11 is out of bounds.")
ROWS = [f"images/{number}.jpg,{number % 6}" for number in range(24)]
WRONG = [*ROWS[:12], "images/12.jpg,11", *ROWS[13:]]


def find_label(folder: Path, *lines: str, name: str = "train.csv", command: tuple[str, ...] = ("python", "train.py")) -> object:
    (folder / name).write_text("\n".join(lines) + "\n")
    origins = [{"name": "options.labels", "type": "str", "text": repr(name)}, {"name": "options.repeat", "text": "4"}]
    return faulty_data.look_for_refused_label(REFUSED, [{"values": [], "origins": origins}], command, str(folder))


@pytest.mark.parametrize(
    ("lines", "line", "times"),
    [
        (WRONG, 13, 1),
        (["path,class", *WRONG], 14, 1),
        ([*WRONG, "images/24.jpg,11"], 13, 2),
        ([row.replace(",", "\t") for row in WRONG], 13, 1),
        ([row.replace(",", " ") for row in WRONG], 13, 1),
    ],
)
def test_found_where_one_column_has_it_beyond_all_others(lines: list[str], line: int, times: int, tmp_path: Path) -> None:
    found = find_label(tmp_path, *lines)
    assert found is not None and (found.path, found.line, found.times) == (str(tmp_path / "train.csv"), line, times)  # type: ignore[attr-defined]


def test_found_where_the_error_quotes_the_class(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("\n".join(WRONG))
    error = ErrorRaised(kind="KeyError", message="Label '11' was not included in the training dataset")
    found = faulty_data.look_for_refused_label(error, [], ["python", "train.py", "list.txt"], str(tmp_path))
    assert found is not None and (found.line, found.value) == (13, 11)


def test_found_in_a_file_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("\n".join(WRONG))
    found = faulty_data.look_for_refused_label(REFUSED, [], ["python", "train.py", "list.txt"], str(tmp_path))
    assert found is not None and found.line == 13


@pytest.mark.parametrize(
    "lines",
    [
        ROWS,
        [f"{row},{11 if row == WRONG[12] else 3}" for row in WRONG],  # two columns may be the one
        [f"images/{number}.jpg,{number}" for number in range(24)],  # it lies among the others: the number of the row
        [row.replace(",", ",x") for row in WRONG],
        WRONG[11:14],
        [],
    ],
)
def test_nothing_is_said_where_it_cannot_be_told(lines: list[str], tmp_path: Path) -> None:
    assert find_label(tmp_path, *lines) is None


def test_no_file_is_read_where_the_error_is_about_something_else(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("\n".join(WRONG))
    assert (
        faulty_data.look_for_refused_label(ErrorRaised(message="Expected 3 channels"), [], ["python", "train.csv"], str(tmp_path))
        is None
    )


OTHER_KIND = ErrorRaised(message="Unknown image file format. One of JPEG, PNG, GIF, BMP required. [Op:DecodeJpeg]")


@pytest.mark.parametrize(
    ("content", "begins"),
    [(b"<html>403</html>", "the text '<html>403</html>'"), (b"", "nothing: it is empty"), (b"\0\1\2" * 20, "")],
)
def test_the_only_file_that_begins_as_no_image_is_found_among_those_that_a_pattern_matches(
    content: bytes, begins: str, images: Path
) -> None:
    (images / "images" / "e.jpg").write_bytes(content)
    checked = faulty_data.look_for_damaged_images(OTHER_KIND, ["images/*.jpg"], ["python", "train.py"], str(images))
    assert checked is not None and checked.damaged == [str(images / "images" / "e.jpg")]
    assert (checked.looked_at, checked.begins) == (4, begins)


def test_nothing_is_named_where_all_files_are_images(images: Path) -> None:
    checked = faulty_data.look_for_damaged_images(OTHER_KIND, ["images/[a-d].*"], ["python", "train.py"], str(images))
    assert checked is None or checked.damaged == []
