"""Versions of what a program has imported, from the disk alone."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unstall.sensors import packages


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
    assert packages.read_versions(imported) == {
        "PyYAML": "6.1", "numpy": "2.1.0", "opencv-python-headless": "4.9.0.80", "protobuf": "5.0", "six": "1.16",
    }  # fmt: skip


def test_what_was_not_imported_is_not_told(site: Path) -> None:
    assert packages.read_versions({"numpy": str(site)}) == {"numpy": "2.1.0"}


def test_a_folder_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    assert packages.read_versions({"numpy": str(tmp_path / "gone")}) == {}


# libraries: the frameworks that a process has loaded are seen in its memory map.


def test_a_process_without_a_framework_has_none() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        seen = packages.sample(process.pid)
        assert seen is not None
        assert seen.names == []
    finally:
        process.kill()
        process.wait()
    assert packages.sample(process.pid) is None


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax", "torch")]
)
def test_a_framework_is_seen_once_it_is_loaded(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    code = f"import {name}; print('loaded', flush=True); input()"
    quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=quiet)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        seen = packages.sample(process.pid)
        assert seen is not None
        assert name in seen.names
    finally:
        process.kill()
        process.wait()
