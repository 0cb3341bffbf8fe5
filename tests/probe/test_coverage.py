"""The probe knows what it sees: the signals that its hooks give, and those that a version of a framework does not let it see."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.programs import UNSTALL, write
from unstall.journal.events import SignalsSeen
from unstall.journal.reader import read_folder
from unstall.probe import hooks
from unstall.probe.coverage import EXPECTED
from unstall.report.terminal.story import format_not_seen

FIT = """
import os
os.environ["KERAS_BACKEND"] = {backend!r}
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.ones((64, 3), "float32"), np.ones((64, 1), "float32"), batch_size=8, verbose=0)
"""
# A package of the name that has none of the places which hooks look for, as one of another version may be, or half installed.
OTHER_VERSION = """
import os, sys
sys.path.insert(0, os.path.dirname(__file__))
import tensorflow
from tensorflow.python.eager import backprop
print("ran", tensorflow.__version__)
"""


def story_of(program: Path) -> tuple[dict[str, Any], str]:
    text = program.parent / "story.json"
    command = [*UNSTALL, "run", "--json", str(text), "--", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(text.read_text())
    return found, done.stdout


def test_every_signal_that_is_expected_of_a_framework_has_a_hook_that_gives_it() -> None:
    given = {signal for hook in hooks.HOOKS for signal in hook.gives}
    assert {signal for signals in EXPECTED.values() for signal in signals} <= given


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax", "torch")]
)
def test_of_the_frameworks_of_today_everything_is_seen(backend: str, tmp_path: Path, own_home: Path) -> None:
    story, _ = story_of(write(tmp_path, FIT.format(backend=backend)))
    (run,) = own_home.iterdir()
    event = read_folder(run).last(SignalsSeen)
    assert event is not None and {"keras", backend} <= set(event.frameworks)
    assert story["not_seen"] == [] and event.not_seen == {}


@pytest.mark.tensorflow
def test_of_keras_2_everything_is_seen(tmp_path: Path, own_home: Path) -> None:
    story, _ = story_of(write(tmp_path, FIT.format(backend="tensorflow").replace("import keras", "import tf_keras as keras")))
    assert story["not_seen"] == [] and story["progress"]["step"] == 7


def test_of_a_version_that_has_no_place_for_a_hook_it_is_said_what_is_not_seen(tmp_path: Path, own_home: Path) -> None:
    for folder in ("tensorflow", "tensorflow/python", "tensorflow/python/eager"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("__version__ = '99.0'\n")
    (tmp_path / "tensorflow/python/eager/backprop.py").write_text("context = None\n")
    story, printed = story_of(write(tmp_path, OTHER_VERSION))
    assert "ran 99.0" in printed
    (row,) = story["not_seen"]
    assert (row["framework"], row["version"]) == ("TensorFlow", "99.0")
    assert row["signals"] == list(EXPECTED["tensorflow"])
    assert story["outcome"] == "unknown", "what is not seen is not well"


def test_the_summary_says_it_in_a_line() -> None:
    row = {"framework": "TensorFlow", "version": "2.4.1", "signals": ["function traces", "checkpoint times"]}
    story = {"state": "done", "verdicts": [], "unknown": [], "not_seen": [row]}
    assert format_not_seen(story) == ["TensorFlow 2.4.1: function traces, checkpoint times"]


# Every module that a hook waits for, with nothing in it, or with things of the right name and another shape.
EMPTY = ""
OTHER_SHAPES = "\n".join(f"{name} = 3" for name in ("GradientTape", "Function", "CallbackList", "Model", "DataHandler", "Layer"))
ODD_CLASSES = """
class _Odd:
    gradient = apply_gradients = __call__ = __init__ = run = property(lambda self: print)
    def __new__(cls):
        return object.__new__(cls)
GradientTape = Function = CallbackList = Model = DataHandler = Layer = EpochIterator = BaseSession = BaseOptimizer = _Odd
"""


@pytest.mark.parametrize("content", [EMPTY, OTHER_SHAPES, ODD_CLASSES], ids=["empty", "other shapes", "odd classes"])
def test_a_version_in_which_everything_is_different_runs_as_alone(content: str, tmp_path: Path, own_home: Path) -> None:
    names = sorted({hook.module for hook in hooks.HOOKS if hook.module.partition(".")[0] in EXPECTED})
    for name in names:
        folder = tmp_path
        for part in name.split(".")[:-1]:
            folder = folder / part
            folder.mkdir(exist_ok=True)
            (folder / "__init__.py").touch()
        module = folder / name.rpartition(".")[2]
        (module / "__init__.py" if module.is_dir() else module.with_suffix(".py")).write_text(content)
    for framework in EXPECTED:
        (tmp_path / framework).mkdir(exist_ok=True)
        (tmp_path / framework / "__init__.py").write_text("__version__ = '99.0'\n")
    imports = "\n".join(f"import {name}" for name in names)
    program = write(
        tmp_path, f"import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\n{imports}\nprint('ran', len(sys.argv))\n"
    )
    story, printed = story_of(program)
    assert printed == "ran 1\n"
    assert {(row["framework"], row["version"]) for row in story["not_seen"]} >= {("TensorFlow", "99.0"), ("PyTorch", "99.0")}
    assert all("steps" in row["signals"] for row in story["not_seen"] if row["framework"] in ("TensorFlow", "Keras"))
    assert story["outcome"] == "unknown"


@pytest.mark.parametrize("catches", [False, True])
def test_a_framework_that_is_half_installed_fails_as_alone(catches: bool, tmp_path: Path, own_home: Path) -> None:
    for folder in ("tensorflow", "tensorflow/python"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "tensorflow/__init__.py").write_text("__version__ = '2.4.1'\nfrom tensorflow.python import pywrap_tensorflow\n")
    source = "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\n"
    source += "try:\n    import tensorflow\nexcept ImportError:\n    print('without')\n" if catches else "import tensorflow\n"
    program = write(tmp_path, source)
    alone = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    text = tmp_path / "story.json"
    command = [*UNSTALL, "run", "--quiet", "--json", str(text), "--", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    story = json.loads(text.read_text())
    if catches:
        assert (story["state"], story["verdicts"], story["not_seen"]) == ("done", [], [])
    else:
        assert done.stderr.startswith(alone.stderr)
        assert story["failure"]["kind"] == "ImportError"


@pytest.mark.parametrize(
    "version",
    ["__version__ = '3.0.0-dev'", "__version__ = ('2', 'x')", "", "def __getattr__(name):\n    raise RuntimeError(name)"],
    ids=["of development", "no text", "none", "one that fails"],
)
def test_a_framework_whose_version_is_odd_runs_as_alone(version: str, tmp_path: Path, own_home: Path) -> None:
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow/__init__.py").write_text(version + "\n")
    program = write(tmp_path, "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport tensorflow\nprint('ran')\n")
    story, printed = story_of(program)
    assert printed == "ran\n" and story["state"] == "done" and not story["verdicts"]
    known = {"__version__ = '3.0.0-dev'": "3.0.0-dev", "__version__ = ('2', 'x')": "('2', 'x')"}
    assert [row["version"] for row in story["not_seen"]] == [known.get(version, "")]


RENAMED = {"callbacks/callback_list": "callbacks/dispatch", "trainers/epoch_iterator": "trainers/feeding"}


def later_keras(folder: Path) -> None:
    """The Keras that is installed, with the modules that are hooked under other names."""
    spec = importlib.util.find_spec("keras")
    assert spec is not None and spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, folder / "keras", ignore=shutil.ignore_patterns("__pycache__"))
    for old, new in RENAMED.items():
        (folder / f"keras/src/{old}.py").rename(folder / f"keras/src/{new}.py")
    for path in (folder / "keras").rglob("*.py"):
        text = path.read_text()
        for old, new in RENAMED.items():
            (package, before), (_, after) = old.split("/"), new.split("/")
            text = text.replace(f"{package}.{before}", f"{package}.{after}")
            text = text.replace(f"{package} import {before}", f"{package} import {after} as {before}")
        path.write_text(text)
    (folder / "keras/src/version.py").write_text('__version__ = "99.0"\ndef version():\n    return __version__\n')


@pytest.mark.parametrize("backend", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax")])
def test_a_later_keras_with_other_modules(backend: str, tmp_path: Path, own_home: Path) -> None:
    later_keras(tmp_path)
    # JAX computes beside the program, whose losses are read when they are there: not in the first milliseconds.
    fit = FIT.format(backend=backend).replace("batch_size=8", "batch_size=8, epochs=200")
    program = write(tmp_path, f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{fit}print(keras.__version__)\n")
    story, printed = story_of(program)
    assert printed == "99.0\n"
    (row,) = [row for row in story["not_seen"] if row["framework"] == "Keras"]
    assert row["version"] == "99.0" and "input wait" in row["signals"]
    assert story["progress"]["step"] == 1599 and "steps" not in row["signals"], (
        "the backend's own hooks see steps that are compiled"
    )
    assert ("loss" in row["signals"]) == (backend == "tensorflow")
    assert [other["framework"] for other in story["not_seen"]] == ["Keras"], "not of what was loaded, and did not train"
