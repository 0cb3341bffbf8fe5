"""record_corrupt: a decoder or a record reader met damaged data, and the program ended."""

import pytest

from tests.diagnosis.builders import T0, journal, lib, py, started, steps
from unstall.diagnosis.causes import record_corrupt
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ErrorRaised, FileMet, ProcessEnded

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
    ],
)
def test_found_in_what_decoders_and_readers_say(kind: str, message: str, said: str) -> None:
    verdict = record_corrupt.examine(journal(started(), steps(0, 99, at=50), raised(kind, message), CRASHED))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert said in verdict.summary
    assert "step 100" in verdict.summary


def test_the_file_that_was_met_last_is_named() -> None:
    met = FileMet(at=T0 + 59, path="/data/shard-00002.npz", how="path")
    verdict = record_corrupt.examine(journal(started(), met, raised("zipfile.BadZipFile", "File is not a zip file"), CRASHED))
    assert isinstance(verdict, Found)
    assert "/data/shard-00002.npz" in verdict.summary


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
