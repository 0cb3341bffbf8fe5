"""Callbacks that take long are timed, each by itself: without what is told apart, and without the program noticing."""

from pathlib import Path

import pytest

from tests.inside.watching import line, watch
from unstall.journal.events import CallbacksTimed, FitBegan, FitEnded

PROGRAM = """
    import time, traceback

    def busy(seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass

    class Quick(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.last = logs["loss"]

    class Draws(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):  # draws
            busy(0.03)

    class Scores(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.evaluate(*held_out, batch_size=16, verbose=0)

    class Sleeps(keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):  # sleeps
            time.sleep(0.005)

    class Fails(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 3:
                raise RuntimeError("of the program itself")

    held_out = data(640)
    model = model_of(4, 1)
    model.compile("sgd", "mse")
    model.fit(*data(3200), batch_size=32, epochs=2, verbose=0, callbacks=[Quick()])

    given = [Draws(), Scores(), Sleeps()]
    listed = keras.callbacks.CallbackList(given, model=model, add_history=True)
    model.fit(*data(640), batch_size=32, epochs=5, verbose=0, callbacks=listed)
    assert listed.callbacks[:3] == given and type(listed.callbacks[3]).__name__ == "History"
    assert len(listed.callbacks[3].history["loss"]) == 5

    try:
        model.fit(*data(640), batch_size=32, epochs=5, verbose=0, callbacks=[*given, Fails()])
    except RuntimeError:
        assert "unstall" not in traceback.format_exc(), traceback.format_exc()
    else:
        raise AssertionError("expected the program's own error")

    class Nested(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            other = model_of(1)
            other.compile("sgd", "mse")
            other.fit(*data(32), batch_size=32, verbose=0)

    model.fit(*data(64), batch_size=32, epochs=1, verbose=0, callbacks=[Nested()])
"""


@pytest.mark.tensorflow
def test_a_slow_callback_is_timed_by_itself_and_nothing_else_changes(tmp_path: Path, own_home: Path) -> None:
    journal = watch(PROGRAM, tmp_path, own_home)
    quick, slow, last, after = journal.of(FitBegan)  # a fit inside another is none of its own
    ends = journal.of(FitEnded)
    assert len(ends) == 3 and ends[-1].at > after.at  # the one that failed ended without a word, and the next is another one
    told = journal.of(CallbacksTimed)
    assert not [event for event in told if quick.at < event.at < slow.at]  # quick callbacks are not worth a word
    timed = [event for event in told if slow.at < event.at < last.at][-1]
    rows = {row["name"]: row for row in timed.callbacks if row["hook"] == "on_train_batch_end"}
    draws, sleeps = rows["Draws"], rows["Sleeps"]
    assert draws["where"] == line(tmp_path, "draws") and sleeps["where"] == line(tmp_path, "sleeps")
    assert 0.5 * timed.calls["on_train_batch_end"] < draws["timed"] <= timed.calls["on_train_batch_end"] < 100
    assert draws["seconds"] > 0.029 * draws["timed"] and draws["cpu_s"] > 0.2 * draws["seconds"] > sleeps["cpu_s"]
    scores = next(row for row in timed.callbacks if (row["name"], row["hook"]) == ("Scores", "on_epoch_end"))
    assert scores["seconds"] < 0.5 * draws["seconds"]  # its evaluation is told apart
