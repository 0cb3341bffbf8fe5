"""record_corrupt: a decoder or a record reader met damaged data, and the program ended."""

from dataclasses import replace

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, lib, py, started, steps
from unstall.diagnosis.causes import record_corrupt
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import DataChecked, ErrorRaised, FileMet, ImageNotRead, ProcessEnded

CRASHED = ProcessEnded(at=T0 + 60, exit_code=1)


def raised(kind: str, message: str, fatal: bool = True, chain: list[str] | None = None) -> ErrorRaised:
    frames = [lib("tensorflow/python/eager/execute.py", "quick_execute"), py("train.py", "main", 55)]
    return ErrorRaised(at=T0 + 59, kind=kind, message=message, frames=frames, fatal=fatal, chain=chain or [])


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("tensorflow.errors.DataLossError", "corrupted record at 792000 [Op:IteratorGetNext]", "at byte 792,000"),
        (
            "tensorflow.errors.InvalidArgumentError",
            "jpeg::Uncompress failed. Invalid JPEG data or crop window.",
            "damaged or cut off",
        ),
        (
            "tensorflow.errors.InvalidArgumentError",
            "DecodeAndCropJpeg operation can run on JPEG only, but detected PNG.",
            "another kind",
        ),
        ("PIL.UnidentifiedImageError", "cannot identify image file '/data/a.jpg'", "/data/a.jpg"),
        ("OSError", "image file is truncated (12 bytes not processed)", "cut off"),
        ("zipfile.BadZipFile", "File is not a zip file", "archive"),
        ("zipfile.BadZipFile", "Bad CRC-32 for file 'x.npy'", "The data is damaged"),
    ],
)
def test_found_in_what_decoders_and_readers_say(kind: str, message: str, said: str) -> None:
    verdict = record_corrupt.examine(journal(started(), steps(0, 99, at=50), raised(kind, message), CRASHED))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert said in verdict.summary
    assert verdict.summary.endswith("100 steps had ended by then.")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("OSError", "Unable to synchronously open file (file signature not found)"),
        ("gzip.BadGzipFile", "Not a gzipped file (b'{}')"),
        ("zlib.error", "Error -3 while decompressing data: incorrect header check"),
        ("zipfile.BadZipFile", "File is not a zip file"),
        ("pickle.UnpicklingError", "Failed to interpret file 'a.npy' as a pickle"),
        (
            "RuntimeError",
            "PytorchStreamReader failed locating file constants.pkl: file not found. This is an internal miniz error.",
        ),
        ("RuntimeError", "PytorchStreamReader failed reading zip archive: failed finding central directory"),
    ],
)
def test_a_file_of_another_kind_is_not_said_to_be_damaged(kind: str, message: str) -> None:
    """torch.jit.load of what torch.save wrote, a page of HTML by the name weights.h5: nothing shows that they are not whole."""
    verdict = record_corrupt.examine(journal(started(), raised(kind, message), CRASHED))
    assert isinstance(verdict, Found)
    assert verdict.summary.startswith("The data cannot be read")
    assert "damaged" not in verdict.summary
    assert "of what kind the file is" in verdict.actions[0]


@pytest.mark.parametrize(
    ("named", "which"),
    [
        ("'photos/a.jpg'", " in photos/a.jpg:"),
        ("'a.jpg'", " in a.jpg:"),
        ("<_io.BufferedReader name='/data/my photos/a.jpg'>", " in /data/my photos/a.jpg:"),
        ("/data/a.jpg", " in /data/a.jpg:"),
        ("gs://bucket/photos/a.jpg", " in gs://bucket/photos/a.jpg:"),
        ("/data/my photos/a.jpg", ":"),  # where it begins is not known
        ("photos/a.jpg", ":"),
    ],
)
def test_a_file_is_named_by_its_whole_path_or_not_at_all(named: str, which: str) -> None:
    error = raised("PIL.UnidentifiedImageError", f"cannot identify image file {named}")
    verdict = record_corrupt.examine(journal(started(), error, CRASHED))
    assert isinstance(verdict, Found)
    assert verdict.summary.startswith(f"The data cannot be read{which}")


def test_nothing_is_said_of_steps_where_they_are_not_seen() -> None:
    """A loop of one's own in PyTorch: it may have made a thousand steps."""
    error = raised("OSError", "image file is truncated (12 bytes not processed)")
    verdict = record_corrupt.examine(journal(started(), error, CRASHED))
    assert isinstance(verdict, Found)
    assert "step" not in verdict.summary
    in_a_fit = record_corrupt.examine(journal(started(), replace(error, step=0, phase="fit"), CRASHED))
    assert isinstance(in_a_fit, Found)
    assert in_a_fit.summary.endswith("No step had ended by then.")
    of_ten = record_corrupt.examine(journal(started(), steps(0, 7, at=50), replace(error, step=10), CRASHED))
    assert isinstance(of_ten, Found)
    assert of_ten.summary.endswith("10 steps had ended by then.")


def summary_with(*files: tuple[str, str], line: str = "") -> str:
    """Of a program that had to do with these files, (path, how), when the error came: they are looked at after it. `line`: the
    variable that stands in the line that failed."""
    met = [
        FileMet(at=T0 + 59.01 + number / 1000, path=path, how=how, in_line=how == line)
        for number, (path, how) in enumerate(files)
    ]
    error = raised("OSError", "image file is truncated (94 bytes not processed)")
    verdict = record_corrupt.examine(journal(started(), error, *met, CRASHED))
    assert isinstance(verdict, Found)
    return verdict.summary


def test_the_file_is_named_that_the_line_was_given_or_the_library_was_reading() -> None:
    log, run = ("/home/me/train.log", "open"), ("/home/me/runs/1/events-probe-7.jsonl", "open")
    images = [("/data/473.jpg", "open"), ("/data/110.jpg", "open")]
    held = [("/data/110.jpg", "last"), ("/data/473.jpg", "f")]
    assert "in /data/473.jpg:" in summary_with(log, *images, run, *held, line="f")
    assert "in /data/473.jpg:" in summary_with(log, *images, run, ("/data/110.jpg", "last"), ("/data/473.jpg", "read"))
    assert "in /data/473.jpg:" in summary_with(log, images[0], run)


def test_a_variable_that_was_left_over_names_no_file() -> None:
    """`for path in paths: ...` before the training: it holds the last one, and not the damaged one."""
    assert "in /" not in summary_with(("/data/59.jpg", "path"))
    assert "in /" not in summary_with(("/data/473.jpg", "open"), ("/data/59.jpg", "open"), ("/data/59.jpg", "path"))
    assert "in /" not in summary_with(("/data/weights.npz", "open"))  # another kind of file


def test_no_file_is_named_where_it_may_be_any_or_is_no_data() -> None:
    assert "in /" not in summary_with(("/data/473.jpg", "open"), ("/data/110.jpg", "open"))
    assert "in /" not in summary_with(("/home/me/train.log", "open"), ("/home/me/config.yaml", "config"))


def test_found_in_an_error_that_led_to_the_last_one() -> None:
    error = raised("RuntimeError", "loader failed", chain=["OSError: image file is truncated (3 bytes not processed)"])
    assert isinstance(record_corrupt.examine(journal(started(), error, CRASHED)), Found)


def test_clear_where_the_program_skips_it_or_something_else_ended_it() -> None:
    skipped = raised("OSError", "image file is truncated (12 bytes not processed)", fatal=False)
    assert isinstance(record_corrupt.examine(journal(started(), skipped, ProcessEnded(at=T0 + 60, exit_code=0))), Clear)
    other = raised("ValueError", "shapes (3,4) and (5,6) not aligned")
    assert isinstance(record_corrupt.examine(journal(started(), other, CRASHED)), Clear)


def test_unknown_without_the_probe() -> None:
    assert isinstance(record_corrupt.examine(journal(started("./train.sh"), CRASHED)), Unknown)


def test_found_where_opencv_gave_none_for_a_file_that_is_there() -> None:
    unread = ImageNotRead(at=T0 + 58.9, path="/data/45.png", exists=True, where=f"{FOLDER}/loader.py:11")
    error = raised("TypeError", "'NoneType' object is not subscriptable")
    verdict = record_corrupt.examine(journal(started(), unread, error, CRASHED))
    assert isinstance(verdict, Found)
    assert "/data/45.png is there, but no image that OpenCV can read" in verdict.summary
    assert verdict.where == "loader.py:11"


def test_the_only_image_without_an_end_is_named() -> None:
    error = raised("tensorflow.errors.UnknownError", "OSError: image file is truncated (7 bytes not processed)")
    one = DataChecked(
        at=T0 + 61,
        kind="image",
        what="no end",
        looked_at=24,
        num_damaged=1,
        damaged=["/data/12.jpg"],
        named_at="/data/train.csv:29",
    )
    verdict = record_corrupt.examine(journal(started(), error, CRASHED, one))
    assert isinstance(verdict, Found) and "in /data/12.jpg: an image is cut off" in verdict.summary
    claim = "of 24 images of the program, /data/12.jpg alone has no end, which stands in /data/train.csv:29"
    assert claim in [evidence.claim for evidence in verdict.evidence]
    several = DataChecked(
        at=T0 + 61, kind="image", what="no end", looked_at=24, num_damaged=2, damaged=["/data/12.jpg", "/data/13.jpg"]
    )
    verdict = record_corrupt.examine(journal(started(), error, CRASHED, several))
    assert isinstance(verdict, Found) and "jpg" not in verdict.summary


def test_the_only_file_that_is_no_image_is_named_with_what_it_begins_with() -> None:
    error = raised("tensorflow.errors.InvalidArgumentError", "Unknown image file format. One of JPEG, PNG, GIF, BMP required.")
    one = DataChecked(
        at=T0 + 61, kind="image", what=record_corrupt.NO_IMAGE, looked_at=40, num_damaged=1, damaged=["/data/11.jpg"],
        begins="the text '<html>'",
    )  # fmt: skip
    verdict = record_corrupt.examine(journal(started(), error, CRASHED, one))
    assert isinstance(verdict, Found)
    assert "in /data/11.jpg: a file is no image. It begins with the text '<html>'." in verdict.summary


def test_the_only_record_file_that_is_damaged_there_is_named() -> None:
    error = raised("tensorflow.errors.DataLossError", "truncated record at 24963' failed with Read less bytes than requested")
    shard = "/data/train-00001-of-00004.record"
    one = DataChecked(at=T0 + 61, kind="record file", what="a damaged record there", looked_at=4, num_damaged=1, damaged=[shard])
    verdict = record_corrupt.examine(journal(started(), error, CRASHED, one))
    assert isinstance(verdict, Found) and f"in {shard}: a record is cut off, at byte 24,963." in verdict.summary
    assert f"of 4 record files of the program, {shard} alone has a damaged record there" in [
        evidence.claim for evidence in verdict.evidence
    ]
    image = DataChecked(at=T0 + 61, kind="image", what="no end", looked_at=4, num_damaged=1, damaged=["/data/1.jpg"])
    verdict = record_corrupt.examine(journal(started(), error, CRASHED, image))
    assert isinstance(verdict, Found) and "jpg" not in verdict.summary


def test_found_where_the_file_that_the_error_names_is_no_image() -> None:
    error = raised("FileNotFoundError", "Image Not Found /data/images/45.jpg")
    checked = DataChecked(
        at=T0 + 60, kind="image", looked_at=1, num_damaged=1, damaged=["/data/images/45.jpg"], what="no beginning of an image"
    )
    verdict = record_corrupt.examine(journal(started(), steps(0, 9, at=50), error, checked, CRASHED))
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.CERTAIN and verdict.where == "train.py:55"
    assert verdict.summary.startswith("/data/images/45.jpg is there, but it has no beginning of an image")
    other = raised("FileNotFoundError", "Image Not Found /data/images/46.jpg")
    for events in ((error,), (other, checked), (error, replace(checked, what="no end"))):
        assert isinstance(record_corrupt.examine(journal(started(), *events, CRASHED)), Clear)


@pytest.mark.parametrize("library", ["tensorflow/python/eager/execute.py", "torch/utils/data/dataloader.py"])
def test_stages_of_tensorflow_are_advised_to_programs_of_tensorflow_alone(library: str) -> None:
    error = replace(
        raised("PIL.UnidentifiedImageError", "cannot identify image file 'a.jpg'"), frames=[lib(library, "f"), py("a.py", "g", 5)]
    )
    verdict = record_corrupt.examine(journal(started(), error, CRASHED))
    assert isinstance(verdict, Found)
    assert ("ignore_errors" in " ".join(verdict.actions)) is library.startswith("tensorflow")
