"""package_missing: what was not found, under which name it is installed, and what shadows it."""

from __future__ import annotations

import pytest

from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import package_missing
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown


@pytest.mark.parametrize(
    ("name", "command"),
    [("cv2", "opencv-python"), ("albumentations", "albumentations"), ("sklearn", "scikit-learn"), ("tf_keras", "tf-keras")],
)
def test_found_with_the_name_under_which_it_is_installed(name: str, command: str) -> None:
    verdict = package_missing.examine(failed("ModuleNotFoundError", f"No module named '{name}'", line(2, f"import {name}")))
    assert isinstance(verdict, Found)
    assert verdict.actions[0].endswith(f"pip install {command}")
    assert verdict.where == "train.py:2"


def test_found_for_a_module_that_may_be_the_users_own() -> None:
    verdict = package_missing.examine(
        failed("ModuleNotFoundError", "No module named 'augment'", line(2, "from augment import A"))
    )
    assert isinstance(verdict, Found)
    assert "Python found it in no folder of its path" in verdict.summary
    assert "PYTHONPATH" in verdict.actions[1]


def test_of_a_part_that_is_missing_it_is_said_that_its_package_was_found() -> None:
    """Python names the outermost part that it did not find."""
    verdict = package_missing.examine(failed("ModuleNotFoundError", "No module named 'mine.data.augment'", line(2, "import it")))
    assert isinstance(verdict, Found)
    assert verdict.summary == "The module `mine.data.augment` was not found. `mine.data` was found, and this part of it was not."


def test_found_with_the_package_that_asks_for_it() -> None:
    within = "segmentation/models/base.py"
    verdict = package_missing.examine(
        failed("ModuleNotFoundError", "No module named 'skimage'", line(2, "import s"), within=within)
    )
    assert isinstance(verdict, Found)
    assert "segmentation asks for it" in verdict.summary


@pytest.mark.parametrize(
    "message",
    [
        "partially initialized module 'random' has no attribute 'shuffle' (most likely due to a circular import)",
        "No module named 'keras.layers'; 'keras' is not a package",
    ],
)
def test_likely_shadowed_by_a_file_of_the_users_own(message: str) -> None:
    kind = "AttributeError" if "attribute" in message else "ModuleNotFoundError"
    verdict = package_missing.examine(failed(kind, message, line(2, "import it")))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.actions[0].startswith("rename the file")


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("ImportError", "libGL.so.1: cannot open shared object file: No such file or directory", "libGL.so.1"),
        ("ImportError", "numpy.core.multiarray failed to import", "built for another version of NumPy"),
        (
            "ValueError",
            "numpy.dtype size changed, may indicate binary incompatibility. Expected 96, got 88",
            "another version of NumPy",
        ),
    ],
)
def test_found_for_extension_modules_that_cannot_be_loaded(kind: str, message: str, said: str) -> None:
    verdict = package_missing.examine(failed(kind, message, line(2, "import it")))
    assert isinstance(verdict, Found)
    assert said in verdict.summary


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ModuleNotFoundError", "No module named 'tensorflow.contrib'"),  # api_removed
        ("ImportError", "cannot import name 'load' from 'tools' (/home/user/project/tools.py)"),
        ("ValueError", "No module named 'x' in the table"),
    ],
)
def test_clear_of_other_errors(kind: str, message: str) -> None:
    assert isinstance(package_missing.examine(failed(kind, message, line(2, "import it"))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(package_missing.examine(unseen()), Unknown)
