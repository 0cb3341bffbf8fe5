"""Paths from annotations are resolved inside the data set, and never outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.dataset_files import put
from unstall.data.io.folder import Folder, FoundPath


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, {"set/images/a.jpg": b"", "set/images/Deep/B.jpg": b"", "set/c.jpg": b"", "outside.jpg": b""})
    return tmp_path / "set"


@pytest.mark.parametrize(
    ("base", "text", "wanted"),
    [
        ("images", "a.jpg", FoundPath("images/a.jpg", "found")),
        ("images", "./Deep//B.jpg", FoundPath("images/Deep/B.jpg", "found")),
        ("images", "../c.jpg", FoundPath("c.jpg", "found")),
        ("", "IMAGES/deep/b.JPG", FoundPath("images/Deep/B.jpg", "case")),
        ("images", "none.jpg", FoundPath("", "missing")),
        ("images", "a.jpg/x.jpg", FoundPath("", "missing")),
        ("images", "Deep", FoundPath("", "missing")),
        ("images", "", FoundPath("", "missing")),
        ("images", "a\0b", FoundPath("", "missing")),
        ("images", "half\ud800.jpg", FoundPath("", "missing")),
        ("images", "x" * 5000, FoundPath("", "missing")),
        ("images", "d/" * 3000 + "x", FoundPath("", "missing")),
        ("images", "../../outside.jpg", FoundPath("", "climbs")),
        ("images", "/etc/passwd", FoundPath("", "climbs")),
        ("images", "~/x.jpg", FoundPath("", "climbs")),
        ("images", "C:\\x.jpg", FoundPath("", "climbs")),
        ("images", "..", FoundPath("", "missing")),
        ("", "..", FoundPath("", "climbs")),
    ],
)
def test_paths(root: Path, base: str, text: str, wanted: FoundPath) -> None:
    assert Folder(root).find(base, text) == wanted


def test_an_absolute_path_may_lead_into_the_folder(root: Path) -> None:
    assert Folder(root).find("images", str(root / "c.jpg")) == FoundPath("c.jpg", "found")
    assert Folder(root).find("images", f"{root}-other/c.jpg").how == "climbs"
    assert Folder(root).find("images", f"{root}/../outside.jpg").how == "climbs"


@given(
    st.lists(st.sampled_from(["..", ".", "images", "a.jpg", "", "Deep", "~", "/", "etc"]), max_size=8).map("/".join),
    st.sampled_from(["", "images"]),
)
def test_nothing_outside_is_ever_found(tmp_path_factory: pytest.TempPathFactory, text: str, base: str) -> None:
    folder = Folder(tmp_path_factory.getbasetemp())
    inside = folder.inside(base, text)
    assert inside is None or os.path.realpath(folder.root / inside).startswith(os.path.realpath(folder.root))


def test_pipes_are_no_files_and_links_to_files_are(root: Path) -> None:
    os.mkfifo(root / "images" / "pipe.jpg")
    (root / "images" / "link.jpg").symlink_to(root / "c.jpg")
    (root / "images" / "broken.jpg").symlink_to(root / "gone.jpg")
    folder = Folder(root)
    assert [folder.find("images", name).how for name in ("pipe.jpg", "link.jpg", "broken.jpg")] == ["missing", "found", "missing"]


def test_walking_goes_into_folders_in_order_and_never_in_circles(root: Path) -> None:
    (root / "images" / "circle").symlink_to(root)
    assert list(Folder(root).walk("", [".jpg"])) == ["c.jpg", "images/a.jpg", "images/Deep/B.jpg"]
