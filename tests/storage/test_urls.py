"""What a path may be, before anything is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstall.base.errors import InvalidInputError
from unstall.storage import is_bucket, resolve_path
from unstall.storage.bucket_path import BucketPath
from unstall.storage.urls import expand_variables


def test_a_path_on_a_disk_stays_a_path_on_a_disk(tmp_path: Path) -> None:
    assert resolve_path(str(tmp_path)) == tmp_path
    assert type(resolve_path(str(tmp_path))) is type(tmp_path)
    assert not is_bucket("data/coco")


@pytest.mark.parametrize("text", ["gs://bucket/data/coco", "s3://bucket/data/coco"])
def test_a_path_in_a_bucket_is_taken_apart_and_together_like_any_path(text: str) -> None:
    path = resolve_path(text)
    assert isinstance(path, BucketPath)
    assert str(path / "train" / "a.jpg") == f"{text}/train/a.jpg"
    assert (path.name, str(path.parent), (path / "a.jpg").suffix) == ("coco", text.removesuffix("/coco"), ".jpg")
    assert (path / "a" / "b").relative_to(path).as_posix() == "a/b"
    assert path.with_name("voc") == resolve_path(text.replace("coco", "voc"))
    assert path != Path("/bucket/data/coco")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("gs://$BUCKET_NOT_SET/data", "BUCKET_NOT_SET"),
        ("gs://${BUCKET_NOT_SET}/data", "BUCKET_NOT_SET"),
        ("s3://bucket/${RUN_NOT_SET}/x", "RUN_NOT_SET"),
        ("${DATA_NOT_SET}/coco", "DATA_NOT_SET"),
        ("gs://${BUCKET_NOT_SET:?unset}/data", "BUCKET_NOT_SET"),
    ],
)
def test_a_variable_that_is_not_set_is_refused_by_its_name(text: str, named: str) -> None:
    with pytest.raises(InvalidInputError, match=f"variable {named}, which is not set"):
        resolve_path(text)


def test_a_variable_that_is_set_is_put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUCKET_OF_TEST", "photos")
    assert str(resolve_path("gs://$BUCKET_OF_TEST/coco")) == "gs://photos/coco"


def test_a_file_that_is_really_called_so_is_no_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("$odd").mkdir()
    assert resolve_path("$odd") == Path("$odd")


@pytest.mark.parametrize("text", ["gs:///data", "s3://", "gs://"])
def test_a_bucket_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="names no bucket"):
        resolve_path(text)


def test_other_schemes_and_odd_names_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"Received: https://"):
        resolve_path("https://example.com/data")
    with pytest.raises(InvalidInputError, match="bucket's name"):
        resolve_path("gs://two words/data")


def test_what_works_on_a_disk_alone_says_so() -> None:
    with pytest.raises(OSError, match="not in a bucket"):
        resolve_path("gs://bucket/data").rename(resolve_path("gs://bucket/other"))  # type: ignore[arg-type]


def test_a_place_in_a_bucket_has_one_name_however_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUCKET", "photos")
    assert expand_variables("gs://$BUCKET/runs/") == "gs://photos/runs"
    assert expand_variables("$BUCKET/runs") == "$BUCKET/runs" and expand_variables(None) is None
    monkeypatch.delenv("BUCKET")
    with pytest.raises(InvalidInputError, match="BUCKET, which is not set"):
        expand_variables("gs://$BUCKET/runs")
