"""bucket_unreachable: the error that ended the program says that object storage was not there for it, and why."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import T0, journal, lib, py, started
from unstall.diagnosis.causes import bucket_unreachable
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ErrorRaised, Event, Frame, ProcessEnded

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)
OWN = [py("data.py", "fetch", 12), py("train.py", "<module>", 40)]


def raised(kind: str, message: str, *frames: Frame, fatal: bool = True) -> Event:
    return ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=[*frames, *OWN], fatal=fatal)


def test_found_in_a_training_of_our_own_with_the_bucket_and_the_cause() -> None:
    said = (
        "gs://photos/coco/1.jpg cannot be read: the credentials are not accepted or have expired (HTTP 401: x). Sign in: gcloud …"
    )
    verdict = bucket_unreachable.examine(journal(started(), raised("unstall.base.errors.BucketError", said), CRASHED))
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.CERTAIN
    assert verdict.summary == (
        "gs://photos/coco/1.jpg cannot be used: the credentials are not accepted or have expired (HTTP 401: x)."
    )
    assert verdict.actions[0].startswith("sign in")


@pytest.mark.parametrize(
    ("kind", "message", "library", "said"),
    [
        ("OSError", "Forbidden: b/photos/o\ndenied", "gcsfs/retry.py", "A bucket cannot be used: the account is not let in"),
        (
            "botocore.exceptions.ClientError",
            "An error occurred (BucketNotFoundError) when calling the GetObject operation: The specified bucket does not exist",
            "botocore/client.py",
            "A bucket cannot be used: there is no such bucket",
        ),
        ("botocore.exceptions.NoCredentialsError", "Unable to locate credentials", "s3fs/core.py", "not let in"),
        (
            "google.api_core.exceptions.Forbidden",
            "403 GET https://storage.googleapis.com/storage/v1/b/photos/o: no storage.objects.list access",
            "google/api_core/x.py",
            "not let in",
        ),
        (
            "tensorflow.python.framework.errors_impl.UnavailableError",
            "All 10 retry attempts failed. The last failure: libcurl code 6 meaning 'Couldn't resolve host name' reading gs://photos/a",
            "tensorflow/python/lib/io/file_io.py",
            "gs://photos/a cannot be used: no answer came in time",
        ),
    ],
)
def test_found_in_the_words_of_other_libraries(kind: str, message: str, library: str, said: str) -> None:
    verdict = bucket_unreachable.examine(journal(started(), raised(kind, message, lib(library, "call", 9)), CRASHED))
    assert isinstance(verdict, Found) and said in verdict.summary
    assert (verdict.certainty, verdict.where) == (Certainty.LIKELY, "data.py:12")


@pytest.mark.parametrize(
    ("kind", "message", "library"),
    [
        ("FileNotFoundError", "gs://photos/coco/none.jpg", "gcsfs/core.py"),  # a single object: its path is wrong
        ("google.api_core.exceptions.Forbidden", "403 POST https://bigquery.googleapis.com/x: denied", "google/api_core/x.py"),
        ("requests.exceptions.ConnectionError", "Connection refused by https://tracking.example", "requests/api.py"),
        ("ValueError", "gs://photos/a.jpg has 403 rows. Expected 500, as all of gs://photos", "keras/x.py"),
        ("ValueError", "403 classes expected, the labels of gs_photos have 404", "keras/x.py"),
    ],
)
def test_clear_where_the_error_is_about_something_else(kind: str, message: str, library: str) -> None:
    error = raised(kind, message, lib(library, "call", 9))
    assert isinstance(bucket_unreachable.examine(journal(started(), error, CRASHED)), Clear)


def test_clear_where_the_program_caught_it() -> None:
    caught = raised("OSError", "Forbidden: b/photos/o", lib("gcsfs/retry.py", "call", 9), fatal=False)
    ended = ProcessEnded(at=T0 + 10, exit_code=0)
    assert isinstance(bucket_unreachable.examine(journal(started(), caught, ended)), Clear)


def test_unknown_without_the_probe() -> None:
    assert isinstance(bucket_unreachable.examine(journal(started("./train.sh"), CRASHED)), Unknown)
