"""What an account may do in a bucket: tried on real servers on loopback, and nothing is left there."""

from __future__ import annotations

from collections.abc import Callable

from tests.storage.conftest import Place
from unstall.cloud import check


def outcomes(tried: list[check.AccessAttempt]) -> dict[str, bool | None]:
    return {each.doing: each.works for each in tried}


def test_all_four_work_and_nothing_is_left(place: Place) -> None:
    assert outcomes(check.try_access(f"{place.url}/runs")) == {"list": True, "write": True, "read": True, "delete": True}
    assert not place.path("runs").exists()


def test_a_bucket_of_data_is_only_read(google: Place) -> None:
    assert outcomes(check.try_access(google.url, reads_only=True)) == {
        "list": None,
        "read": None,
    }  # it may as well not be there
    google.path("coco/one.jpg").write_bytes(b"jpeg")
    tried = check.try_access(f"{google.url}/coco", reads_only=True)
    assert outcomes(tried) == {"list": True, "read": True}


def test_what_is_refused_is_named_with_its_reason(google: Place, hurry: Callable[[], None]) -> None:
    hurry()
    google.proxy.fault(kind="status", status=403, body=b"{}")
    tried = check.try_access(google.url)
    assert outcomes(tried) == {"list": False, "write": False, "read": None}
    assert all("denied" in each.why or "not accepted" in each.why for each in tried if each.works is False)


def test_a_bucket_that_is_not_there_is_told_so(place: Place) -> None:
    tried = check.try_access(f"{place.scheme}://no-such-bucket-{place.name}")
    assert outcomes(tried) == {"list": False, "write": False, "read": None}
    assert all("no such bucket" in each.why for each in tried if each.works is False)
