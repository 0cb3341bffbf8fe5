"""api_removed: names and arguments that a version of a library no longer has, with what they are called now."""

from __future__ import annotations

import pytest

from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import api_removed
from unstall.diagnosis.errors.removed_names import find_removed_from_module
from unstall.diagnosis.verdict import Certainty, Clear, Found, LineChange, Unknown

FLOAT = "module 'numpy' has no attribute 'float'.\n`np.float` was a deprecated alias for the builtin `float`."


def test_found_for_a_name_of_numpy_with_the_change_of_the_line() -> None:
    source = "    boxes = np.asarray(boxes, dtype=np.float)"
    verdict = api_removed.examine(
        failed("AttributeError", FLOAT, line(23, source, function="overlaps"), within="numpy/__init__.py")
    )
    assert isinstance(verdict, Found)
    assert verdict.summary == ("`np.float` was removed from NumPy, and version 1.24 no longer has it. It is called `float` now.")
    assert verdict.where == "train.py:23"
    assert verdict.changes == (LineChange("train.py:23", (source,), ("    boxes = np.asarray(boxes, dtype=float)",)),)


@pytest.mark.parametrize(
    ("kind", "message", "source", "after"),
    [
        ("ValueError", "Argument(s) not recognized: {'lr': 0.001}", "opt = Adam(lr=1e-3)", "opt = Adam(learning_rate=1e-3)"),
        ("TypeError", "__init__() got an unexpected keyword argument 'lr'", "opt = SGD(lr=0.1)", "opt = SGD(learning_rate=0.1)"),
        (
            "TypeError",
            "TensorFlowTrainer.fit() got an unexpected keyword argument 'nb_epoch'",
            "model.fit(x, y, nb_epoch=3)",
            "model.fit(x, y, epochs=3)",
        ),
        (
            "AttributeError",
            "module 'tensorflow._api.v2.train' has no attribute 'AdamOptimizer'",
            "opt = tf.train.AdamOptimizer(1e-3)",
            "opt = tf.keras.optimizers.Adam(1e-3)",
        ),
        (
            "AttributeError",
            "'Sequential' object has no attribute 'fit_generator'",
            "model.fit_generator(rows)",
            "model.fit(rows)",
        ),
        ("AttributeError", "module 'PIL.Image' has no attribute 'ANTIALIAS'", "resize(Image.ANTIALIAS)", "resize(Image.LANCZOS)"),
        (
            "AttributeError",
            "`np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.",
            "x = numpy.float_(3)",
            "x = numpy.float64(3)",
        ),
    ],
)
def test_found_with_what_it_is_called_now(kind: str, message: str, source: str, after: str) -> None:
    verdict = api_removed.examine(failed(kind, message, line(5, source)))
    assert isinstance(verdict, Found)
    assert [change.after for change in verdict.changes] == [(after,)]


@pytest.mark.parametrize(
    ("message", "now"),
    [
        ("No module named 'keras.utils.np_utils'", "to_categorical"),
        ("cannot import name 'np_utils' from 'keras.utils' (/usr/lib/keras/utils/__init__.py)", "to_categorical"),
        ("cannot import name 'ImageDataGenerator' from 'keras.preprocessing.image' (/x.py)", "image_dataset_from_directory"),
        ("No module named 'tensorflow.contrib'", "tf.contrib has moved"),
        ("module 'keras._tf_keras.keras.layers' has no attribute 'experimental'", "Rescaling"),
    ],
)
def test_found_for_modules_that_are_gone(message: str, now: str) -> None:
    kind = "AttributeError" if message.startswith("module") else "ImportError"
    verdict = api_removed.examine(failed(kind, message, line(2, "import it")))
    assert isinstance(verdict, Found)
    assert now in verdict.actions[0]
    assert verdict.changes == ()


def test_likely_where_the_version_of_the_library_was_not_seen() -> None:
    message = "module 'tensorflow' has no attribute 'Session'"
    verdict = api_removed.examine(failed("AttributeError", message, line(5, "s = tf.Session()"), versions={"torch": "2.13"}))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


@pytest.mark.parametrize(
    ("kind", "message", "source"),
    [
        ("AttributeError", "module 'numpy' has no attribute 'flaot'", "x = np.flaot(3)"),
        ("AttributeError", "'Table' object has no attribute 'append'", "table.append(3)"),
        ("AttributeError", "'list' object has no attribute 'lr'", "x = rates.lr"),
        ("TypeError", "Adam() got an unexpected keyword argument 'rate'", "Adam(rate=3)"),
        ("TypeError", "train() got an unexpected keyword argument 'lr'", "train(lr=3)"),
        ("ValueError", "lr must be below 1", "Adam(lr=3)"),
        ("ModuleNotFoundError", "No module named 'albumentations'", "import albumentations"),
        ("AttributeError", "module 'tensorflow._api.v2.compat.v1' has no attribute 'layers'", "tf.compat.v1.layers"),
    ],
)
def test_clear_of_names_that_no_library_had(kind: str, message: str, source: str) -> None:
    assert isinstance(api_removed.examine(failed(kind, message, line(5, source))), Clear)


def test_clear_where_the_loaded_version_still_has_it() -> None:
    message = "'Sequential' object has no attribute 'fit_generator'"
    verdict = api_removed.examine(failed("AttributeError", message, line(5, "m.fit_generator(x)"), versions={"keras": "2.8.0"}))
    assert isinstance(verdict, Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(api_removed.examine(unseen()), Unknown)


def test_the_names_of_numpy_are_gone_and_their_successors_are_there() -> None:
    numpy = pytest.importorskip("numpy", minversion="2.0")
    for name, now in {
        "float_": "float64",
        "NaN": "nan",
        "PINF": "inf",
        "mat": "asmatrix",
        "alltrue": "all",
        "round_": "round",
    }.items():
        removed = find_removed_from_module("numpy", name)
        assert removed is not None and removed.now == f"np.{now}"
        assert hasattr(numpy, now) and not hasattr(numpy, name)


def test_a_function_of_jax_that_has_moved() -> None:
    row = line(17, "return jax.tree_map(f, params)")
    verdict = api_removed.examine(
        failed("AttributeError", "module 'jax' has no attribute 'tree_map'", row, versions={"jax": "0.10.2"})
    )
    assert isinstance(verdict, Found)
    assert verdict.summary == "`jax.tree_map` is no longer in JAX. Version 0.10.2 is loaded. It is called `jax.tree.map` now."
    assert verdict.changes[0].after == ("return jax.tree.map(f, params)",)
