"""A bucket read, written and listed through real servers, healthy and broken."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from tests.storage.conftest import Place
from tests.storage.proxy import EXPIRED_AMAZON, EXPIRED_GOOGLE
from unstall.base.errors import BucketError, BucketNotFoundError
from unstall.cloud import check
from unstall.storage.bucket import read_ahead
from unstall.storage.bucket_path import PREFETCH_PART_BYTES, BucketPath
from unstall.storage.retry import NameTaken
from unstall.storage.uploader import is_wanted


def test_what_is_written_is_read_listed_and_deleted(place: Place) -> None:
    path = place.path("runs/first/score.json")
    assert not path.exists()
    path.write_text("{}")
    (path.parent / "deeper" / "x").write_bytes(b"12345")
    assert path.read_text() == "{}"
    assert path.is_file()
    assert path.parent.is_dir()
    assert path.stat().st_size == 2
    assert sorted(each.name for each in path.parent.iterdir()) == ["deeper", "score.json"]
    assert [str(each) for each in place.path("runs").rglob("*")] == [f"{place.url}/runs/first/deeper/x", str(path)]
    assert [each.name for each in path.parent.glob("*.json")] == ["score.json"]
    path.unlink()
    assert not path.exists()
    with pytest.raises(FileNotFoundError, match="no such object"):
        path.read_bytes()


def test_parts_are_read_and_a_large_object_from_front_to_back(place: Place) -> None:
    contents = bytes(range(256)) * (3 * PREFETCH_PART_BYTES // 256) + b"the end"
    path = place.path("large.bin")
    with path.open("wb") as file:
        file.write(contents)
    assert isinstance(path, BucketPath)
    assert path.read_range(1000, 1010) == contents[1000:1010]
    with path.open("rb") as file:
        assert b"".join(iter(lambda: file.read(300_000), b"")) == contents
        file.seek(-7, 2)
        assert file.read() == b"the end"


def test_what_must_be_new_is_refused_by_the_server_where_it_is_there(place: Place) -> None:
    path = place.path("manifest.json")
    assert isinstance(path, BucketPath)
    path.bucket.write(path.key, b"first", must_be_new=True)
    with pytest.raises(NameTaken):
        path.bucket.write(path.key, b"second", must_be_new=True)
    assert path.read_bytes() == b"first"


def test_an_error_while_writing_leaves_nothing_behind(amazon: Place) -> None:
    path = amazon.path("half.bin")
    with pytest.raises(RuntimeError), path.open("wb") as file:
        file.write(b"the first half")
        raise RuntimeError
    assert not path.exists()


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("amazon", {"kind": "status", "status": 503}),
        ("google", {"kind": "status", "status": 429, "body": b'{"error": {"code": 429, "message": "slow down"}}'}),
        ("amazon", {"kind": "reset"}),
        ("google", {"kind": "reset"}),
    ],
    ids=["s3-503", "gs-429", "s3-reset", "gs-reset"],
)
def test_what_passes_is_lived_through(where: str, fault: dict[str, object], request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(where)
    path = place.path("a.bin")
    path.write_bytes(b"whole")
    met = place.proxy.fault(**fault, times=1)
    assert path.read_bytes() == b"whole"
    met.met = 0
    path.write_bytes(b"whole again")
    assert met.met == 1
    assert path.read_bytes() == b"whole again"


def test_a_server_that_stays_away_is_given_up_by_name_and_others_are_told_at_once(
    google: Place, hurry: Callable[[], None]
) -> None:
    path = google.path("a.bin")
    path.write_bytes(b"whole")
    hurry()
    fault = google.proxy.fault(kind="status", status=503)
    with pytest.raises(BucketError, match=rf"{path} cannot be read: the server is not available \(HTTP 503\); tried \d+ times"):
        path.read_bytes()
    asked = fault.met
    with pytest.raises(BucketError, match="cannot be listed"):
        list(google.path("other").iterdir())
    assert fault.met == asked


@pytest.mark.parametrize("kind", ["stall", "cut"])
def test_silence_ends_by_itself_before_and_within_an_answer(google: Place, kind: str, hurry: Callable[[], None]) -> None:
    path = google.path("a.bin")
    path.write_bytes(b"whole" * 1000)
    hurry()
    google.proxy.fault(kind=kind)
    began = time.monotonic()
    with pytest.raises(BucketError, match=f"{path} cannot be read: the server falls silent"):
        path.read_bytes()
    assert time.monotonic() - began < 200  # the proxy would be silent for longer


def test_a_slow_link_is_no_failure(google: Place) -> None:
    path = google.path("a.bin")
    path.write_bytes(bytes(200_000))
    google.proxy.fault(kind="slow", bytes_per_s=400_000)
    assert path.read_bytes() == bytes(200_000)


def test_expired_credentials_are_said_at_once(place: Place) -> None:
    body, status = (EXPIRED_GOOGLE, 401) if place.scheme == "gs" else (EXPIRED_AMAZON, 400)
    fault = place.proxy.fault(kind="status", status=status, body=body)
    with pytest.raises(BucketError, match=rf"{place.url}/a.bin cannot be read: the credentials .*expired.* Sign in: "):
        place.path("a.bin").read_bytes()
    assert fault.met == 1


def test_access_that_is_denied_is_said_at_once_with_the_bucket(place: Place) -> None:
    said = {"error": {"code": 403, "message": "no storage.objects.create access"}}
    body = json.dumps(said).encode() if place.scheme == "gs" else b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
    fault = place.proxy.fault(kind="status", status=403, body=body)
    with pytest.raises(BucketError, match=rf"cannot be written: access is denied .* the bucket '{place.name}'"):
        place.path("a.bin").write_bytes(b"x")
    assert fault.met == 1


def test_many_are_worked_on_at_once_and_come_in_order() -> None:
    held: list[int] = []
    results = read_ahead(lambda each: held.append(each) or each * 2, range(100), at_once=8)  # type: ignore[func-returns-value]
    assert next(results) == 0
    assert len(held) <= 10
    assert list(results) == [2 * each for each in range(1, 100)]


# --- what must be new ---


def test_what_must_be_new_is_not_overwritten(place: Place) -> None:
    path = place.path("settings.toml")
    with path.open("x", encoding="utf-8") as file:
        file.write("first")
    with pytest.raises(FileExistsError, match="there is such an object already"), path.open("x") as file:
        file.write("second")
    assert path.read_text() == "first"


def test_an_answer_that_was_lost_is_no_other_writer(google: Place) -> None:
    """It was written, and the connection broke before that was said: the second attempt finds its own."""
    google.proxy.fault(kind="lost", times=1, method="POST")
    with google.path("settings.toml").open("xb") as file:
        file.write(b"ours")
    assert google.path("settings.toml").read_bytes() == b"ours"


def test_nor_is_it_for_an_object_whose_name_nobody_else_knows(place: Place) -> None:
    place.proxy.fault(kind="lost", times=1, method="PUT" if place.scheme == "s3" else "POST")
    assert [each for each in check.try_access(place.url) if not each.works] == []


def test_nothing_can_be_written_to_a_bucket_that_is_not_there(place: Place) -> None:
    from unstall.storage import resolve_path

    nowhere = f"{place.scheme}://no-such-bucket-{place.name}/x"
    with pytest.raises(BucketNotFoundError, match=f"{nowhere} cannot be written: there is no such bucket"):
        resolve_path(nowhere).write_bytes(b"x")


def test_a_bucket_that_is_not_there_is_no_empty_one(place: Place) -> None:
    from unstall.storage import resolve_path

    nowhere = f"{place.scheme}://no-such-bucket-{place.name}"
    for ask in (lambda: resolve_path(f"{nowhere}/x").exists(), lambda: list(resolve_path(f"{nowhere}/runs").iterdir())):
        with pytest.raises(BucketNotFoundError, match=f"{nowhere} cannot be read: there is no such bucket"):
            ask()
    assert not place.path("x").exists(), "one that is empty"
    place.path("y").write_bytes(b"1")
    assert not place.path("x").exists() and place.path("y").exists()


@pytest.mark.parametrize("name", ["/etc/passwd", "a//b", "../x", "workers/../../x", "lock", "bucket.txt", "journal/x", ""])
def test_names_that_no_run_has_are_not_fetched(name: str) -> None:
    """A bucket may be written by others: nothing in it leads out of the folder of the run."""
    assert not is_wanted(name)
    assert is_wanted("story.json") and is_wanted("workers/1/story.json")
