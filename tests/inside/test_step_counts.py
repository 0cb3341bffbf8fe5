"""Every step is counted, whether it is told by itself, together with others, or seen inside the graph only."""

from pathlib import Path

import pytest

from tests.inside.watching import watch
from unstall.inside.steps import StepCounter
from unstall.journal.events import Event, StepsEnded


@pytest.mark.tensorflow
def test_the_steps_of_a_pass_that_is_one_function_are_counted_with_their_wait(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        weights = tf.Variable(tf.zeros((8, 1)))

        @tf.function
        def one_pass(training, validation):
            total = 0.0
            for x, y in training:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((x @ weights - y) ** 2)
                weights.assign_sub(0.1 * tape.gradient(loss, weights))
                total += loss
            for x, y in validation:
                total += 0.0 * tf.reduce_mean(x @ weights)
            return total

        def slowly(x, y):
            tf.py_function(lambda: __import__("time").sleep(0.05), [], [])
            return x, y

        training = tf.data.Dataset.from_tensor_slices(data(320)).batch(32).map(slowly)
        validation = tf.data.Dataset.from_tensor_slices(data(96)).batch(32)
        for _ in range(3):
            one_pass(training, validation)
        """,
        tmp_path,
        own_home,
    )
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert groups[-1].last == 29  # three passes of ten
    assert sum(group.waited_steps for group in groups) == 30
    assert sum(group.wait_s or 0.0 for group in groups) >= 30 * 0.05


@pytest.mark.tensorflow
def test_short_steps_are_told_together_and_none_is_lost(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        model = model_of(4, 1)
        model.compile("sgd", "mse")
        model.fit(*data(6400), batch_size=32, epochs=2, verbose=0, validation_data=data(64))
        """,
        tmp_path,
        own_home,
    )
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert [group.first for group in groups[1:]] == [group.last + 1 for group in groups[:-1]]
    assert groups[0].first == 0
    assert groups[-1].last == 399
    assert {group.last for group in groups if group.epoch == 0} & {199}
    assert groups[-1].loss is not None and groups[-1].loss < 1.0


@pytest.mark.tensorflow
def test_an_evaluation_after_a_batch_does_not_spoil_the_losses(tmp_path: Path, own_home: Path) -> None:
    """It sets Keras's metrics back, so that the mean of the epoch begins anew."""
    journal = watch(
        """
        held_out = data(64)

        class Score(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                self.model.evaluate(*held_out, verbose=0)

        model = model_of(4, 1)
        model.compile("sgd", "mse")
        model.fit(*data(640), batch_size=32, epochs=1, verbose=0, callbacks=[Score()])
        """,
        tmp_path,
        own_home,
    )
    losses = [group.loss for group in journal.of(StepsEnded) if group.phase == "train" and group.loss is not None]
    assert len(losses) > 3
    assert all(loss >= 0 for loss in losses)


def losses_of(means: list[float]) -> list[object]:
    """What is told of steps after which Keras gave these running means."""
    told: list[Event] = []
    counter = StepCounter("train", told.append)
    for step, mean in enumerate(means, 1):
        counter.ended(step, step + 0.5, None, lambda mean=mean: (mean, 0))  # type: ignore[misc]
    return [event.loss for event in told if isinstance(event, StepsEnded)]


def test_after_a_loss_beyond_all_measure_a_running_mean_says_nothing_of_the_next_ones() -> None:
    assert losses_of([1.0, 1e16, 2e16 / 3]) == [1.0, pytest.approx(2e16), None]


def test_a_loss_of_nothing_is_told() -> None:
    assert losses_of([0.0, 0.0]) == [0.0, 0.0]
    assert losses_of([1.0, 0.5]) == [1.0, 0.0]
