"""What the probe sees of trainings by `fit`, in a real program: every step, its loss and its wait, the input, callbacks, eager steps."""

import pytest

from tests.probe.watched_programs import Parts, WatchedProgram, facts
from unstall.journal.events import CallbacksTimed, ErrorRaised, FitBegan, FitEnded, InputDescribed, StepsEnded

pytestmark = pytest.mark.tensorflow
PARTS = Parts()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> WatchedProgram:
    return PARTS.watched(tmp_path_factory.mktemp("fits"))


# --- steps ---

SHORT_STEPS = PARTS.add("""
    model = model_of(4, 1)
    model.compile("sgd", "mse")
    model.fit(*data(6400), batch_size=32, epochs=2, verbose=0, validation_data=data(64))
""")


def test_short_steps_are_told_together_and_none_is_lost(watched: WatchedProgram) -> None:
    groups = [group for group in watched.during(SHORT_STEPS).of(StepsEnded) if group.phase == "train"]
    assert [group.first for group in groups[1:]] == [group.last + 1 for group in groups[:-1]]
    assert groups[0].first == 0
    assert groups[-1].last == 399
    assert {group.last for group in groups if group.epoch == 0} & {199}
    assert groups[-1].loss is not None and groups[-1].loss < 1.0


EVALUATES = PARTS.add("""
    held_out = data(64)

    class Score(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.evaluate(*held_out, verbose=0)

    model = model_of(4, 1)
    model.compile("sgd", "mse")
    model.fit(*data(640), batch_size=32, epochs=1, verbose=0, callbacks=[Score()])
""")


def test_an_evaluation_after_a_batch_does_not_spoil_the_losses(watched: WatchedProgram) -> None:
    """It sets Keras's metrics back, so that the mean of the epoch begins anew."""
    groups = watched.during(EVALUATES).of(StepsEnded)
    losses = [group.loss for group in groups if group.phase == "train" and group.loss is not None]
    assert len(losses) > 3
    assert all(loss >= 0 for loss in losses)


EAGER = PARTS.add("""
    model = model_of(4, 4, 4, 1)
    model.compile("adam", "mse", run_eagerly=True)  # EAGER
    model.fit(*data(), batch_size=32, verbose=0)
""")


def test_an_eager_step_is_profiled(watched: WatchedProgram) -> None:
    profile = facts(watched.during(EAGER), "eager")[-1]
    assert (profile["why"], profile["where"]) == ("run_eagerly", watched.line("EAGER"))
    assert profile["operations"] > 50
    assert profile["framework_s"] > profile["user_s"]


# --- the input ---

ENDLESS = PARTS.add("""
    def endless():
        while True:
            yield data(32)

    model = model_of(1)
    model.compile("sgd", "mse")
    validation = tf.data.Dataset.from_tensor_slices(data(96)).repeat().batch(32)
    model.fit(*data(), validation_data=validation, validation_steps=3, epochs=1, verbose=0)
    model.fit(endless(), steps_per_epoch=5, verbose=0)
""")


def test_validation_data_without_end_and_a_generator_known_by_its_source(watched: WatchedProgram) -> None:
    inputs = watched.during(ENDLESS).of(InputDescribed)
    (described,) = [event for event in inputs if event.role == "validate"]
    assert described.batches == -1
    assert described.arguments["batches_per_pass"] == 3
    assert described.arguments["steps_per_epoch"] == 3
    (generator,) = [event for event in inputs if event.kind == "generator"]
    assert generator.arguments["never_ends"] is True
    assert generator.where is not None and "program.py:" in generator.where


MADE_AHEAD = """
    def batch(number):
        tf.py_function(lambda: time.sleep(0.03), [], [])
        return tf.ones([16, 8]), tf.ones([16, 1])

    class Slow(keras.layers.Layer):
        def call(self, inputs):
            return tf.ensure_shape(tf.py_function(lambda x: (time.sleep(0.05), x)[1], [inputs], tf.float32), [None, 8])

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8), Slow(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(tf.data.Dataset.range(120).map(batch)AHEAD, epochs=1, verbose=0)
"""
BY_THE_PROGRAM = PARTS.add(MADE_AHEAD.replace("AHEAD", ".prefetch(4)"))
BY_TENSORFLOW = PARTS.add(MADE_AHEAD.replace("AHEAD", ""))


@pytest.mark.parametrize("part", [BY_THE_PROGRAM, BY_TENSORFLOW], ids=["by_the_program", "by_tensorflow"])
def test_a_batch_that_is_made_ahead_is_not_waited_for(part: int, watched: WatchedProgram) -> None:
    """Making a batch takes some 60 % of a step. Fetched ahead, by the program or by TensorFlow itself, it costs no wait."""
    steps = watched.during(part).of(StepsEnded)
    groups = [group for group in steps if group.first >= 8 and group.wait_s is not None]
    assert groups, steps
    each = sum(group.wait_s or 0.0 for group in groups) / sum(group.waited_steps for group in groups)
    step = sum(group.seconds for group in groups) / sum(group.last - group.first + 1 for group in groups)
    assert each / step < 0.35, f"a step of {step * 1000:.0f} ms is said to wait {each * 1000:.0f} ms"


# --- callbacks ---

CALLBACKS = PARTS.add("""
    import traceback

    def busy(seconds):
        until = time.thread_time() + seconds  # of work: on a busy machine it takes longer, as all the rest does
        while time.thread_time() < until:
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
""")


def test_a_slow_callback_is_timed_by_itself_and_nothing_else_changes(watched: WatchedProgram) -> None:
    """Without what is told apart, and without the program noticing."""
    journal = watched.during(CALLBACKS)
    quick, slow, last, after = journal.of(FitBegan)  # a fit inside another is none of its own
    ends = journal.of(FitEnded)
    assert len(ends) == 3 and ends[-1].at > after.at  # the one that failed ended without a word, and the next is another one
    timings = journal.of(CallbacksTimed)
    assert not [event for event in timings if quick.at < event.at < slow.at]  # quick callbacks are not worth a word
    timed = [event for event in timings if slow.at < event.at < last.at][-1]
    rows = {row["name"]: row for row in timed.callbacks if row["hook"] == "on_train_batch_end"}
    draws, sleeps = rows["Draws"], rows["Sleeps"]
    assert draws["where"] == watched.line("draws") and sleeps["where"] == watched.line("sleeps")
    assert 0.5 * timed.calls["on_train_batch_end"] < draws["timed"] <= timed.calls["on_train_batch_end"] < 100
    assert draws["seconds"] > 0.029 * draws["timed"] and draws["cpu_s"] > 5 * sleeps["cpu_s"]  # one works, the other waits
    scores = next(row for row in timed.callbacks if (row["name"], row["hook"]) == ("Scores", "on_epoch_end"))
    assert scores["seconds"] < 0.5 * draws["seconds"]  # its evaluation is told apart


# --- before and after a fit ---

AFTERWARDS = PARTS.add("""
    model = model_of(4, 1)
    model.compile("sgd", "mse")
    model.fit(*data(640), batch_size=32, epochs=1, verbose=0)
    model.evaluate(*data(640), batch_size=32, verbose=0)
    for _ in range(3):
        model.test_on_batch(*data(32))
""")


def test_an_evaluation_after_a_fit_is_no_training(watched: WatchedProgram) -> None:
    """The same lines of Keras make the function that trains and the one that evaluates."""
    journal = watched.during(AFTERWARDS)
    assert [fit.api for fit in journal.of(FitBegan)] == ["keras"]
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert sum(group.last - group.first + 1 for group in groups) == 20


AFTER_A_LOOP = PARTS.add("""
    model = model_of(1)
    model.compile("sgd", "mse")
    for _ in range(5):
        model.train_on_batch(*data(32))
    model.fit(tf.data.Dataset.from_tensor_slices(data(320)).batch(32), epochs=1, verbose=0)
""")


def test_the_input_of_a_fit_after_a_loop_of_ones_own_is_that_of_a_training(watched: WatchedProgram) -> None:
    journal = watched.during(AFTER_A_LOOP)
    assert [fit.api for fit in journal.of(FitBegan)] == ["own_loop", "keras"]
    assert [(described.kind, described.role) for described in journal.of(InputDescribed)] == [("tf.data", "train")]


# --- interrupts ---

INTERRUPTED = PARTS.add("""
    class Interrupts(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                raise KeyboardInterrupt

    model = model_of(4, 1)
    model.compile("sgd", "mse")
    try:
        model.fit(*data(), batch_size=32, epochs=2, verbose=0, callbacks=[Interrupts()])
    except KeyboardInterrupt as error:
        import traceback
        assert "unstall" not in "".join(traceback.format_exception(error))
    model.fit(*data(), batch_size=32, epochs=1, verbose=0)
""")


def test_a_fit_that_is_left_by_an_interrupt_is_told_and_the_next_one_is_a_fit_of_its_own(watched: WatchedProgram) -> None:
    """As in a notebook, whose process lives on."""
    journal = watched.during(INTERRUPTED)
    (left,) = journal.of(ErrorRaised)
    assert (left.kind, left.fatal, left.thread, left.step) == ("KeyboardInterrupt", False, "MainThread", 4)
    first, second = journal.of(FitBegan)
    assert first.at < left.at < second.at
    assert [ended.steps for ended in journal.of(FitEnded)] == [20]


def test_a_fit_that_ends_in_order_was_left_by_nobody(watched: WatchedProgram) -> None:
    assert not watched.during(SHORT_STEPS).of(ErrorRaised)
