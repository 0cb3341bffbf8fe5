"""What the probe sees of the input, in real programs: the stages of a pipeline, what they cost, endless data, the wait."""

from pathlib import Path

import pytest

from tests.inside.watching import line, watch
from unstall.journal.events import InputDescribed, PipelineMeasured, StepsEnded


@pytest.mark.tensorflow
def test_the_stages_of_a_pipeline_and_what_they_cost(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        import time

        def slow(x):
            return tf.reduce_sum(tf.sort(tf.random.stateless_normal([300_000], seed=[1, x])))

        numbers = tf.data.Dataset.range(100_000)
        features = numbers.map(slow)  # SLOW
        mixed = features.shuffle(buffer_size=16).batch(4)  # MIXED
        until = time.monotonic() + 5  # the first measurement comes after three
        for batch in mixed:
            if time.monotonic() > until:
                break
        """,
        tmp_path,
        own_home,
    )
    measured = journal.of(PipelineMeasured)
    assert measured, "the loop runs for longer than the first measurement takes to come"
    stages = {stage["stage"]: stage for stage in measured[0].stages if "stage" in stage}
    assert stages["map"]["where"] == line(tmp_path, "SLOW")
    assert stages["map"]["arguments"]["function"] == "slow"
    assert "augmenting" in stages["map"]["does"]
    assert stages["shuffle"]["where"] == line(tmp_path, "MIXED")
    assert stages["shuffle"]["arguments"]["buffer_size"] == 16
    assert all(not event.stages for event in measured[1:]), "stages are told once"
    hardest = max(measured[-1].nodes, key=lambda node: node["seconds"])
    assert "Map" in hardest["name"]
    assert hardest["elements"] > 0


@pytest.mark.tensorflow
def test_validation_data_without_end_and_a_generator_known_by_its_source(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        def endless():
            while True:
                yield data(32)

        model = model_of(1)
        model.compile("sgd", "mse")
        validation = tf.data.Dataset.from_tensor_slices(data(96)).repeat().batch(32)
        model.fit(*data(), validation_data=validation, validation_steps=3, epochs=1, verbose=0)
        model.fit(endless(), steps_per_epoch=5, verbose=0)
        """,
        tmp_path,
        own_home,
    )
    (described,) = [event for event in journal.of(InputDescribed) if event.role == "validate"]
    assert described.batches == -1
    assert described.arguments["batches_per_pass"] == 3
    assert described.arguments["steps_per_epoch"] == 3
    (generator,) = [event for event in journal.of(InputDescribed) if event.kind == "generator"]
    assert generator.arguments["never_ends"] is True
    assert generator.where is not None and "program.py:" in generator.where


@pytest.mark.tensorflow
@pytest.mark.parametrize(("ahead", "most"), [(".prefetch(4)", 0.35), ("", 0.35)])
def test_a_batch_that_is_made_ahead_is_not_waited_for(tmp_path: Path, own_home: Path, ahead: str, most: float) -> None:
    """Making a batch takes some 60 % of a step. Fetched ahead, by the program or by TensorFlow itself, it costs no wait."""
    journal = watch(
        f"""
        import time

        def batch(number):
            tf.py_function(lambda: time.sleep(0.03), [], [])
            return tf.ones([16, 8]), tf.ones([16, 1])

        class Slow(keras.layers.Layer):
            def call(self, inputs):
                return tf.ensure_shape(tf.py_function(lambda x: (time.sleep(0.05), x)[1], [inputs], tf.float32), [None, 8])

        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8), Slow(), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        dataset = tf.data.Dataset.range(60).map(batch){ahead}
        model.fit(dataset, epochs=1, verbose=0)
        """,
        tmp_path,
        own_home,
    )
    groups = [group for group in journal.of(StepsEnded) if group.first >= 8 and group.waited_steps and group.wait_s is not None]
    each = sum(group.wait_s or 0.0 for group in groups) / sum(group.waited_steps for group in groups)
    step = sum(group.seconds for group in groups) / sum(group.last - group.first + 1 for group in groups)
    assert each / step < most, f"a step of {step * 1000:.0f} ms is said to wait {each * 1000:.0f} ms"
