"""Callbacks that take long are timed, each by itself: without what is told apart, and without the program noticing."""

from pathlib import Path

import pytest

from tests.inside.watching import line, watch
from unstall.journal.events import CallbacksTimed

SLOW = """
    import time, traceback

    def busy(seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass

    class Draws(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):  # draws
            busy(0.02)

    class Scores(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.evaluate(*held_out, batch_size=4, verbose=0)

    class Sleeps(keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):  # sleeps
            time.sleep(0.005)

    class Fails(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 5:
                raise RuntimeError("of the program itself")

    held_out = data(640)
    model = model_of(4, 1)
    model.compile("sgd", "mse")
    given = [Draws(), Scores(), Sleeps(), Fails()]
    try:
        model.fit(*data(640), batch_size=32, epochs=9, verbose=0, callbacks=given)
    except RuntimeError:
        assert "unstall" not in traceback.format_exc(), traceback.format_exc()
    assert [type(each).__name__ for each in given] == ["Draws", "Scores", "Sleeps", "Fails"]
    given = given[:3]
    listed = keras.callbacks.CallbackList(given, model=model, add_history=True)
    model.fit(*data(640), batch_size=32, epochs=6, verbose=0, callbacks=listed)
    assert listed.callbacks[:3] == given and type(listed.callbacks[3]).__name__ == "History"
    assert len(listed.callbacks[3].history["loss"]) == 6
"""


@pytest.mark.tensorflow
def test_a_slow_callback_is_timed_by_itself_and_nothing_else_changes(tmp_path: Path, own_home: Path) -> None:
    journal = watch(SLOW, tmp_path, own_home)
    told = journal.of(CallbacksTimed)[-1]  # of the second fit
    rows = {row["name"]: row for row in told.callbacks if row["hook"] == "on_train_batch_end"}
    draws, sleeps = rows["Draws"], rows["Sleeps"]
    assert draws["where"] == line(tmp_path, "draws") and sleeps["where"] == line(tmp_path, "sleeps")
    assert 0.5 * told.calls["on_train_batch_end"] < draws["timed"] <= told.calls["on_train_batch_end"] < 120
    assert draws["seconds"] > 0.019 * draws["timed"] and draws["cpu_s"] > 0.5 * draws["seconds"]
    assert sleeps["cpu_s"] < 0.5 * sleeps["seconds"]
    scores = next(row for row in told.callbacks if (row["name"], row["hook"]) == ("Scores", "on_epoch_end"))
    assert scores["seconds"] < 0.5 * draws["seconds"]  # its evaluation is told apart


@pytest.mark.tensorflow
def test_quick_callbacks_are_not_worth_a_word(tmp_path: Path, own_home: Path) -> None:
    quick = """
    class Quick(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.last = logs["loss"]

    model = model_of(4, 1)
    model.compile("sgd", "mse")
    model.fit(*data(6400), batch_size=32, epochs=3, verbose=0, callbacks=[Quick()])
    """
    assert not watch(quick, tmp_path, own_home).of(CallbacksTimed)
