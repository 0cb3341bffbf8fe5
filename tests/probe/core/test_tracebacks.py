"""An error that the program catches and prints itself prints as it would alone: no frame of ours, the same lines, the same carets."""

import re
import textwrap
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run_bare, run_watched, write
from unstall.journal.run_folder import RunFolder
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.tracebacks import hide_own_frames
from unstall.probe.input.epoch_iterator import TimedIterable
from unstall.probe.input.repeated_batches import LookingIterator, Source

SIGNALS = """
import logging, os, signal, traceback

class Asked(Exception):
    pass

def handler(number, frame):
    raise Asked("by a signal")

signal.signal(signal.SIGUSR1, handler)
kept = None

def wrong():
    os.kill("nobody", 1) + len([])

try:
    wrong()
except TypeError:
    traceback.print_exc()
try:
    os.kill(os.getpid(), signal.SIGUSR1)
except Asked as error:
    kept = error
    logging.exception("asked")
try:
    raise kept  # later, once more
except Asked:
    traceback.print_exc()
try:
    try:
        os.kill(2**70, 9)
    except OverflowError as error:
        raise ValueError("no such process") from error
except ValueError:
    traceback.print_exc()

def several():
    errors = []
    for number in (1.5, "x"):
        try:
            signal.raise_signal(number)
        except TypeError as error:
            errors.append(error)
    raise ExceptionGroup("several", errors)

try:
    several()
except ExceptionGroup:
    traceback.print_exc()
os.killpg("nobody", 1)
"""


def test_errors_that_pass_through_what_is_wrapped_without_a_framework(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, SIGNALS)
    bare = run_bare(program)
    assert bare.err.count(b"Traceback (most recent call last)") == 9 and b"    ^^^^^^^" in bare.err
    assert run_watched(program) == bare


IMPORT = """
import os, traceback
os.environ["KERAS_BACKEND"] = "no_such_backend"
os.kill(os.getpid(), 0)  # the probe is on from here
try:
    import keras
except Exception:
    traceback.print_exc()
"""


@pytest.mark.tensorflow
def test_an_import_of_a_hooked_module_that_fails(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, IMPORT)
    bare = run_bare(program)
    assert b"keras/__init__.py" in bare.err, "its import is hooked"
    assert run_watched(program) == bare


TENSORFLOW = """
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import sys, traceback

def tried(name, function):
    print("---", name, file=sys.stderr)
    try:
        function()
    except Exception:
        traceback.print_exc()

import keras, numpy as np, tensorflow as tf

def numbers():
    yield np.zeros((4, 2), "float32")
    raise OSError("the disk is gone")

def model_of(x=2):
    model = keras.Sequential([keras.Input((x,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

@tf.function
def step(x):
    return tf.debugging.assert_less(x, 1.0)

class Careless(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise KeyError("accuracy")

class Pictures(keras.utils.PyDataset):
    def __len__(self):
        return 3
    def __getitem__(self, index):
        raise FileNotFoundError(f"picture {index}")

def pairs():
    for batch in numbers():
        yield batch, batch[:, :1]

def missing_file():
    for record in tf.data.TFRecordDataset("/no/such/file"):
        pass

def half():
    for batch in tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: tf.debugging.assert_less(x, 2.0) or x):
        pass

data = np.zeros((8, 2), "float32"), np.zeros((8, 1), "float32")
for filtering in (True, False):
    (keras.config.enable_traceback_filtering if filtering else keras.config.disable_traceback_filtering)()
    (tf.debugging.enable_traceback_filtering if filtering else tf.debugging.disable_traceback_filtering)()
    tried("a file that is not there", missing_file)
    tried("an element that fails", half)
    tried("a function that fails", lambda: step(tf.ones([])))
    tried("a stage given wrong arguments", lambda: tf.data.Dataset.range(3).batch())
    tried("a source given wrong arguments", lambda: tf.data.Dataset.from_tensor_slices())
    tried("a tape asked wrongly", lambda: tf.GradientTape().gradient())
    tried("a callback that fails", lambda: model_of().fit(*data, verbose=0, callbacks=[Careless()]))
    tried("a generator that fails", lambda: model_of().fit(pairs(), verbose=0))
    tried("a PyDataset that fails", lambda: model_of().fit(Pictures(), verbose=0))
    tried("a model compiled wrongly", lambda: keras.Sequential([keras.layers.Dense(1)]).compile("nonsense"))
    tried("a model saved nowhere", lambda: model_of().save("/no/such/folder/model.keras"))
    tried("a loss of other shapes", lambda: keras.losses.MeanSquaredError()(np.zeros((3, 2)), np.zeros((4, 5))))
    tried("a step on batches that do not fit", lambda: model_of().train_on_batch(np.zeros((4, 7)), np.zeros((4, 1))))
    tried("gradients without variables", lambda: keras.optimizers.SGD().apply([1.0]))

keras.config.enable_traceback_filtering()
tf.debugging.enable_traceback_filtering()

@tf.function
def own_step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(x ** 2)
        row = tf.gather(tf.range(3), tf.cast(loss, tf.int32))
    return row, tape.gradient(loss, x)

print("--- a loop of one's own that fails", file=sys.stderr)
try:
    for number in range(3):
        own_step(tf.ones([4, 4]) * number)
except tf.errors.InvalidArgumentError:
    sys.excepthook(*sys.exc_info())  # as the interpreter shows an error that ends the program
print("--- a fit that ends the program", file=sys.stderr)
model = keras.Sequential([keras.layers.Embedding(10, 4), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.full((8, 3), 99), np.zeros((8, 1)), verbose=0)
"""
CASES = TENSORFLOW.count("    tried(") * 2 + 2


@pytest.mark.tensorflow
def test_errors_that_pass_through_the_hooks_of_the_frameworks(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, TENSORFLOW)
    bare, watched = (_cases(run(program).err) for run in (run_bare, run_watched))
    assert len(bare) == CASES and all("Traceback (most recent call last)" in text for text in bare.values()), bare
    defined = [name for name, text in bare.items() if "defined at (most recent call last)" in text]
    assert defined[-2:] == list(bare)[-2:], "what TensorFlow writes of its graph is there, too"
    for name, text in bare.items():
        assert watched[name] == text
    assert watched == bare


def _cases(err: bytes) -> dict[str, str]:
    """What each printed, without TensorFlow's log and the running numbers of its functions and tensors."""

    text = re.sub(r"(?m)^[IWE]\d{4} .*\n|^WARNING: All log.*\n", "", err.decode())
    text = re.sub(r"(__inference_\w+?_|\[Op:\w+?_|0x|sequential_?|dense_?)[0-9a-f]+", r"\1", text)
    text = re.sub(r"__autograph_generated_file\w+", "__autograph_generated_file", text)
    found: dict[str, str] = {}
    for part in text.split("--- ")[1:]:
        name, _, printed = part.partition("\n")
        found[name if name not in found else f"{name}, not filtered"] = printed
    return found


# --- each kind of wrapper alone ---


def failing() -> Iterator[int]:
    yield 1
    raise OSError("the disk is gone")


def frames_of(function: Callable[[], Any]) -> list[str]:
    try:
        function()
    except Exception as error:
        return [Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)]
    raise AssertionError("nothing was raised")


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[Probe]:
    probe = Probe(RunFolder(tmp_path))
    yield probe
    probe.stop()


def test_iterators_that_lie_around_the_programs_own(probe: Probe) -> None:
    here = Path(__file__).name
    assert frames_of(lambda: list(TimedIterable(failing(), probe))) == [here, here, here]
    assert frames_of(lambda: list(LookingIterator(failing(), Source("generator", probe), probe))) == [here, here, here]


def test_the_programs_own_frames_below_a_hook_stay() -> None:
    class Owner:
        def method(self, call: Callable[[], None]) -> None:
            call()

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def hook(owner: Owner, call: Callable[[], None]) -> None:  # of this file, so it is none of ours
            original(owner, call)

        return hook

    wrap(Owner, "method", make)

    def outer() -> None:
        Owner().method(inner)

    def inner() -> None:
        raise KeyError(1)

    try:
        outer()
    except KeyError as error:
        names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names == ["test_the_programs_own_frames_below_a_hook_stay", "outer", "hook", "method", "inner"]


def test_an_error_that_allows_no_other_traceback_is_raised_all_the_same() -> None:
    class Odd(Exception):
        @property
        def __traceback__(self) -> None:  # type: ignore[override]
            raise RuntimeError("not for you")

    @hide_own_frames
    def hook() -> None:
        raise Odd

    with pytest.raises(Odd):
        hook()


def test_a_hook_at_the_very_end_of_the_stack(tmp_path: Path, own_home: Path) -> None:
    program = write(
        tmp_path,
        textwrap.dedent("""
            import os
            def deeper():
                os.kill(os.getpid(), 0)
                deeper()
            try:
                deeper()
            except RecursionError as error:
                print(error.__context__, error.__cause__)
        """),
    )
    assert run_watched(program) == run_bare(program)


INTERRUPTED_TWICE = """
import os, signal, threading
import torch

start = threading.Thread.start

def interrupted(thread):  # Ctrl-C is pressed again while Unstall writes down the first
    if thread.name.startswith("unstall-files"):
        signal.raise_signal(signal.SIGINT)
    start(thread)

threading.Thread.start = interrupted
signal.raise_signal(signal.SIGINT)
"""


@pytest.mark.torch
def test_a_second_interrupt_while_the_first_is_written_down(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, INTERRUPTED_TWICE)
    bare, watched = run_bare(program), run_watched(program)
    assert b"KeyboardInterrupt" in bare.err
    assert watched == bare
