"""requirements: the installed packages that a library's own requirements refuse, where it fails while it is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from unstall.probe.errors.requirements import compare_version, find_unmet


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def install(folder: Path, module: str, code: str, *requires: str, name: str = "") -> None:
    (folder / f"{module}.py").write_text(code)
    about = folder / f"{name or module}-0.9.dist-info"
    about.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name or module}", "Version: 0.9", *(f"Requires-Dist: {each}" for each in requires)]
    (about / "METADATA").write_text("\n".join(lines) + "\n")
    (about / "top_level.txt").write_text(f"{module}\n")


def fail(folder: Path, code: str) -> list[dict[str, Any]]:
    path = folder / "train.py"
    path.write_text(code)
    try:
        exec(compile(code, str(path), "exec"), {"__name__": "train"})
    except Exception as error:  # whatever the program ends with
        return find_unmet(error, error.__traceback__)
    raise AssertionError("The program should have failed.")


@pytest.mark.parametrize("name", ["", "vision-of-nine"])
def test_a_requirement_that_is_not_met(tmp_path: Path, installed: Path, name: str) -> None:
    install(
        installed, "vision_of_nine", "raise RuntimeError('no operator')\n", "numpy (>=900.1)", "pillow; extra == 'x'", name=name
    )
    (row,) = fail(tmp_path, "import vision_of_nine\n")
    assert (row["what"], row["name"], row["version"]) == ("requirement", name or "vision_of_nine", "0.9")
    assert (row["needs"], row["specifier"], row["installed"]) == ("numpy", ">=900.1", numpy.__version__)


def test_requirements_that_are_met_and_packages_that_are_not_there(tmp_path: Path, installed: Path) -> None:
    install(installed, "vision_of_ten", "raise RuntimeError('no operator')\n", "numpy>=1.0", "no-such-package>=2")
    assert fail(tmp_path, "import vision_of_ten\n") == []


def test_an_error_after_the_import_is_none_of_the_packages_versions(tmp_path: Path, installed: Path) -> None:
    install(installed, "vision_of_six", "def look():\n    raise RuntimeError('no operator')\n", "numpy>=900.1")
    assert fail(tmp_path, "import vision_of_six\nvision_of_six.look()\n") == []
    assert "vision_of_six" in sys.modules


@pytest.mark.parametrize(
    ("version", "clause", "is_met"),
    [
        ("2.13.0+cpu", "==2.14.0", False),
        ("2.13.0+cpu", "==2.13.0", True),
        ("2.13", ">=2.13.0", True),
        ("2.13.1", "<2.13", False),
        ("2.13.1", "!=2.13.*", False),
        ("2.13.1", "==2.*", True),
        ("2.13.1", "~=2.4", True),
        ("1.12", "~=1.12.0", True),
        ("2", "==2.0.*", True),
        ("3.0", "~=2.4", False),
        ("1.9", "<=1.10", True),
        ("1.9", ">1.10", False),
        ("2.0rc1", ">=2.0", None),  # whether that comes first is not judged
        ("2.0", "===2.0", None),
        ("1.0.post1", ">1.0", None),
    ],
)
def test_versions_are_compared_as_numbers(version: str, clause: str, is_met: bool | None) -> None:
    assert compare_version(version, clause) is is_met


def test_what_a_broken_installation_left_behind_is_no_package(tmp_path: Path, installed: Path) -> None:
    install(installed, "vision_of_seven", "raise ImportError('no')", "half-removed>=1.0")
    (installed / "half_removed-1.0.dist-info").mkdir()
    assert fail(tmp_path, "import vision_of_seven") == []
