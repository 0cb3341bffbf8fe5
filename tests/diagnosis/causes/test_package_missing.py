"""package_missing: what was not found, under which name it is installed, and what shadows it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
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


LIBRARY = "timm/layers/trace_utils.py"


@pytest.mark.parametrize(
    ("within", "certainty"), [("", Certainty.LIKELY), ("/usr/lib/python3.11/tempfile.py", Certainty.CERTAIN)]
)
def test_a_file_of_the_programs_own_that_hides_a_module(within: str, certainty: Certainty) -> None:
    maker = {"what": "shadowing", "name": "random", "where": f"{FOLDER}/random.py:1", "hidden": "the standard library"}
    message = f"cannot import name 'Random' from 'random' ({FOLDER}/random.py)"
    verdict = package_missing.examine(failed("ImportError", message, line(1, "import tempfile"), within=within, makers=[maker]))
    assert isinstance(verdict, Found)
    assert verdict.summary.startswith(
        "The file random.py of the program has the name of the module `random` of the standard library"
    )
    assert (verdict.where, verdict.certainty) == ("random.py:1", certainty)


def lacking(name: str, module: str, *close: str) -> dict[str, Any]:
    return {"what": "lacking", "name": name, "module": module, "close": list(close), "version": "2.13.0"}


def test_a_name_that_the_installed_version_lacks() -> None:
    message = "module 'torch.optim' has no attribute 'Adamm'"
    verdict = package_missing.examine(
        failed("AttributeError", message, line(1, "torch.optim.Adamm(p)"), makers=[lacking("Adamm", "torch.optim", "Adam")])
    )
    assert isinstance(verdict, Found)
    assert verdict.summary == "The installed torch 2.13.0 has no `Adamm` in `torch.optim`. It has `Adam`."


def test_two_packages_whose_versions_do_not_go_together() -> None:
    message = "cannot import name 'GPUDevice' from 'torch.cuda' (/x/site-packages/torch/cuda/__init__.py)"
    row, maker = line(1, "import timm"), lacking("GPUDevice", "torch.cuda")
    verdict = package_missing.examine(failed("ImportError", message, row, within=LIBRARY, makers=[maker]))
    assert isinstance(verdict, Found)
    assert "timm asks for it, and was made for another version of torch" in verdict.summary
    assert "pip install -U timm torch" in verdict.actions[0]


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("TypeError", "Descriptors cannot not be created directly.\nIf this call came from a _pb2.py file", "protobuf"),
        ("TypeError", "Descriptors cannot be created directly.\nIf this call came from a _pb2.py file", "protobuf"),
        (
            "google.protobuf.runtime_version.VersionError",
            "Detected incompatible Protobuf Gencode/Runtime versions when loading x.proto: gencode 6.31.1 runtime 5.29.3.",
            "(6.31.1, and 5.29.3 is installed)",
        ),
        ("RuntimeError", "Numpy is not available", "NumPy"),
        ("RuntimeError", "module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000", "NumPy"),
        (
            "ImportError",
            "/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /x/scipy/_lib/a.so)",
            "has no GLIBCXX_3.4.29. a.so needs it.",
        ),
        ("ImportError", "/x/site-packages/detectron2/_C.so: undefined symbol: _ZN3c106detail14torchCheckFailE", "PyTorch"),
        (
            "tensorflow.python.framework.errors_impl.NotFoundError",
            "/x/_ops.so: undefined symbol: _ZN10tensorflow8OpKernelE",
            "TensorFlow",
        ),
        ("ImportError", "/x/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4", "CUDA"),
    ],
)
def test_versions_that_do_not_go_together(kind: str, message: str, said: str) -> None:
    verdict = package_missing.examine(failed(kind, message, line(1, "import it")))
    assert isinstance(verdict, Found)
    assert said in verdict.summary


def test_clear_of_a_module_of_the_programs_own_that_lacks_a_name() -> None:
    message = f"cannot import name 'Net' from 'models' ({FOLDER}/models.py)"
    assert isinstance(package_missing.examine(failed("ImportError", message, line(1, "from models import Net"))), Clear)
    assert isinstance(package_missing.examine(failed("RuntimeError", "Numpy is not what I want", line(1, "x"))), Clear)


def requirement(**more: str) -> dict[str, Any]:
    row = {"what": "requirement", "name": "torchvision", "version": "0.29.2", "needs": "torch", "specifier": "==2.14.0"}
    return {**row, "installed": "2.13.0+cpu", **more}


def test_a_library_whose_requirements_are_not_met_fails_while_it_is_imported() -> None:
    row, message = line(2, "from torchvision import transforms"), "operator torchvision::nms does not exist"
    verdict = package_missing.examine(failed("RuntimeError", message, row, makers=[requirement()]))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "torchvision 0.29.2 needs torch ==2.14.0, and 2.13.0+cpu is installed." in verdict.summary
    assert "'torch==2.14.0', or the torchvision that was made for torch 2.13.0" in verdict.actions[0]


def test_the_same_error_of_a_library_whose_requirements_are_met_is_left_to_others() -> None:
    row, message = line(2, "from torchvision import transforms"), "operator torchvision::nms does not exist"
    assert isinstance(package_missing.examine(failed("RuntimeError", message, row)), Clear)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ImportError", "libGL.so.1: cannot open shared object file: No such file or directory"),
        ("KeyError", "'DATA_ROOT'"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'labels.txt'"),
    ],
)
def test_an_error_that_says_why_is_not_put_down_to_versions(kind: str, message: str) -> None:
    row = line(2, "import torchvision")
    verdict = package_missing.examine(failed(kind, message, row, makers=[requirement()]))
    assert not isinstance(verdict, Found) or "torchvision 0.29.2 needs" not in verdict.summary


def test_a_module_that_is_not_there_is_named_whatever_else_does_not_go_together() -> None:
    row = line(2, "import torchvision")
    verdict = package_missing.examine(failed("ModuleNotFoundError", "No module named 'PIL'", row, makers=[requirement()]))
    assert isinstance(verdict, Found)
    assert "`PIL` was not found" in verdict.summary
