"""What the probe sees of a training loop, in real programs: steps, traces, missing gradients, weights, batches, eager steps."""

from pathlib import Path
from typing import Any

import pytest

from tests.probe.watched_programs import facts, line, watch
from unstall.journal.events import FitBegan, GradientsMissed, InputDescribed, PhaseBegan, StepsEnded


@pytest.mark.tensorflow
def test_steps_epochs_and_validation_of_a_loop_of_ones_own(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        model, optimizer = model_of(16, 1), keras.optimizers.SGD(0.01)
        training = tf.data.Dataset.from_tensor_slices(data()).shuffle(640).batch(32)
        validation = tf.data.Dataset.from_tensor_slices(data(96)).batch(32)

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return {"norm": tf.constant(3.0), "loss": loss}

        for epoch in range(3):
            for x, y in training:
                step(x, y)
            for x, y in validation:  # VALIDATION
                model(x)
        """,
        tmp_path,
        own_home,
    )
    (fit,) = journal.of(FitBegan)
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert fit.api == "own_loop"
    assert sum(group.last - group.first + 1 for group in groups) == 60
    assert groups[-1].last == 59
    assert {group.epoch for group in groups} == {0, 1, 2}
    assert all(group.wait_s is not None for group in groups)
    losses = [group.loss for group in groups if group.loss is not None]
    assert losses
    assert losses[0] != 3.0, "the loss is what is called so, not what stands first"
    assert sum(event.phase == "validate" for event in journal.of(PhaseBegan)) == 3
    (described,) = journal.of(InputDescribed)  # once, not for each pass
    assert (described.role, described.batches, described.where) == ("validate", 3, line(tmp_path, "VALIDATION"))


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
def test_two_functions_that_take_turns_are_one_loop(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        left, right = tf.Variable(1.0), tf.Variable(2.0)

        def trainer(variable):
            @tf.function
            def step(x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(variable * x)
                variable.assign_sub(0.001 * tape.gradient(loss, variable))
                return loss
            return step

        @tf.function
        def other(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(right * x)
            right.assign_sub(0.001 * tape.gradient(loss, right))
            return loss

        first = trainer(left)
        for _ in range(30):
            first(tf.ones(3))
            other(tf.ones(3))
        """,
        tmp_path,
        own_home,
    )
    assert max(group.last for group in journal.of(StepsEnded)) == 29
    assert facts(journal, "turns")


@pytest.mark.tensorflow
def test_what_cuts_a_gradient_off(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        # A head that is not in use.
        model, spare = model_of(4, 1), keras.layers.Dense(2)
        spare.build((None, 4))

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                spare(model.layers[0](x))
                loss = tf.reduce_mean((model(x) - y) ** 2)
            return tape.gradient(loss, model.trainable_variables + spare.trainable_variables)

        step(*data(32))

        # An eager step.
        encoder, head = model_of(4), keras.layers.Dense(1)

        def centre(values):
            values = values.numpy()  # CUT EAGERLY
            return tf.constant(values - values.mean(axis=0))

        def train(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((head(centre(encoder(x))) - y) ** 2)
            return tape.gradient(loss, encoder.trainable_variables + head.trainable_variables)

        train(*data(32))

        # A graph, in fit, which ends with Keras's own error.
        def hard(y_true, y_pred):
            level = tf.round(y_pred)  # CUT IN A GRAPH
            return tf.reduce_mean((level - y_true) ** 2)

        model = model_of(4, 1)
        model.compile("sgd", hard)
        model.fit(*data(), verbose=0)
        """,
        tmp_path,
        own_home,
        code=1,
    )
    unused, eager, graph = journal.of(GradientsMissed)
    assert len(unused.missing) == 2
    assert unused.feeding == [], "the spare head does not feed the loss"
    assert (eager.cut_at, eager.cut_by) == (line(tmp_path, "CUT EAGERLY"), "numpy()")
    assert eager.feeding is None
    assert (graph.cut_at, graph.cut_by) == (line(tmp_path, "CUT IN A GRAPH"), "Round")
    assert graph.missing_parameters == graph.parameters == 41
    assert len(graph.feeding or []) == 4


LOOP_THAT_CHANGES_NOTHING = """
import time
model, copy = model_of(4, 1), model_of(4, 1)
optimizer = keras.optimizers.SGD(0.01)  # MADE
x, y = (tf.constant(part) for part in data(32))

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)  # ASKED
    APPLY
    return loss

step(x, y)
end = time.monotonic() + 3.5  # two samples, two seconds apart
while time.monotonic() < end:
    step(x, y)
    time.sleep(0.01)
"""


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("apply", "expected"),
    [
        ("pass", {"applied": False, "applied_to_these": False, "optimizers": 1, "changed": []}),
        (
            "optimizer.apply_gradients(zip(gradients, copy.trainable_variables))",
            {"applied": True, "applied_to_these": False, "changed": []},
        ),
        (
            "optimizer.apply_gradients(zip(gradients, model.trainable_variables))",
            {"applied": True, "applied_to_these": True, "unchanged": []},
        ),
    ],
)
def test_whether_the_weights_change_and_why_not(apply: str, expected: dict[str, Any], tmp_path: Path, own_home: Path) -> None:
    journal = watch(LOOP_THAT_CHANGES_NOTHING.replace("APPLY", apply), tmp_path, own_home)
    last = facts(journal, "weights")[-1]
    assert {key: last[key] for key in expected} == expected
    assert last["asked_at"] == line(tmp_path, "ASKED")
    assert last["learning_rate"] == pytest.approx(0.01)


@pytest.mark.torch
def test_a_detached_branch_on_pytorch(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        class Detach(keras.layers.Layer):
            def call(self, inputs):
                return inputs.detach()  # CUT

        inputs = keras.Input((8,))
        left = Detach()(keras.layers.Dense(4, name="left")(inputs))
        right = keras.layers.Dense(4, name="right")(inputs)
        model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Concatenate()([left, right])))
        model.compile("adam", "mse")
        model.fit(np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32"), batch_size=16, verbose=0)
        """,
        tmp_path,
        own_home,
        preamble='import os\nos.environ["KERAS_BACKEND"] = "torch"\nimport keras, numpy as np\n',
    )
    (event,) = journal.of(GradientsMissed)
    assert event.missing == event.feeding == ["left/kernel", "left/bias"]
    assert (event.cut_at, event.cut_by) == (line(tmp_path, "CUT"), "detach()")


@pytest.mark.jax
def test_a_stopped_branch_and_a_spare_head_on_jax(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.body, self.head, self.spare = (keras.layers.Dense(unit, name=name) for unit, name in ((4, "body"), (1, "head"), (2, "spare")))

            def build(self, shape):
                self.body.build(shape)
                self.head.build((None, 4))
                self.spare.build((None, 4))
                self.built = True

            def call(self, inputs):
                return self.head(keras.ops.stop_gradient(self.body(inputs)))  # CUT

        model = Net()
        model.compile("adam", "mse")
        model.fit(np.ones((64, 8), "float32"), np.zeros((64, 1), "float32"), batch_size=16, verbose=0)
        """,
        tmp_path,
        own_home,
        preamble='import os\nos.environ["KERAS_BACKEND"] = "jax"\nimport keras, numpy as np\n',
    )
    (event,) = journal.of(GradientsMissed)
    assert [name.rpartition("net/")[2] for name in event.feeding or []] == ["body/kernel", "body/bias"]
    assert len(event.missing) == 4
    assert (event.cut_at, event.cut_by) == (line(tmp_path, "CUT"), "stop_gradient")


@pytest.mark.tensorflow
def test_the_losses_of_a_loop_that_is_over_in_no_time(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        weight = tf.Variable(1.0)
        kept = []

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(weight * x)
            weight.assign_sub(0.1 * tape.gradient(loss, weight))
            return loss

        for _ in range(12):
            kept.append(step(tf.ones(1)))
        """,
        tmp_path,
        own_home,
    )
    losses = [group.loss for group in journal.of(StepsEnded) if group.loss is not None]
    assert losses[0] == pytest.approx(1.0), "the first is read as soon as there is a second"
    assert losses[-1] == pytest.approx(-0.1, abs=1e-5), "and the last when the loop is over"
