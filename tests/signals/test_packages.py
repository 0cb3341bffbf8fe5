"""Versions of what a program has imported, from the disk alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstall.signals import packages


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    records = {
        "numpy-2.1.0.dist-info": "numpy/__init__.py,,\n",
        "opencv_python_headless-4.9.0.80.dist-info": "cv2/__init__.py,,\ncv2/cv2.abi3.so,,\n",
        "protobuf-5.0.dist-info": "google/protobuf/__init__.py,,\n",
        "google_auth-2.0.dist-info": "google/auth/__init__.py,,\n",
        "six-1.16.dist-info": "six.py,,\n",
        "types_PyYAML-6.0.dist-info": "yaml-stubs/__init__.pyi,,\n",
        "PyYAML-6.1.dist-info": "yaml/__init__.py,,\n",
    }
    for name, record in records.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "RECORD").write_text(record)
    return folder


def test_a_package_is_found_by_its_name_or_by_the_files_that_it_brought(site: Path) -> None:
    imported = dict.fromkeys(["numpy", "cv2", "google.protobuf", "six", "yaml"], str(site))
    assert packages.versions(imported) == {
        "PyYAML": "6.1", "numpy": "2.1.0", "opencv-python-headless": "4.9.0.80", "protobuf": "5.0", "six": "1.16",
    }  # fmt: skip


def test_what_was_not_imported_is_not_told(site: Path) -> None:
    assert packages.versions({"numpy": str(site)}) == {"numpy": "2.1.0"}


def test_a_folder_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    assert packages.versions({"numpy": str(tmp_path / "gone")}) == {}
