"""One's own loop under MirroredStrategy: gradients are computed in the threads of its replicas, and steps are made by the loop."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.probe.watched_programs import TENSORFLOW, facts, watch
from unstall.diagnosis.findings import diagnose
from unstall.journal.events import FitBegan, StallBegan, StepsEnded
from unstall.journal.reader import Journal

pytestmark = pytest.mark.tensorflow

# The form of the loop in the TensorFlow Object Detection API: a checkpoint first, then a function around strategy.run.
LOOP = """
import time
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(DEVICES)
x, y = data()
if BROKEN:
    x[320, 3] = np.nan
batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(16).repeat()
with strategy.scope():
    model = model_of(1)
    optimizer = keras.optimizers.SGD(0.05)
    optimizer.build(model.trainable_variables)
tf.train.CheckpointManager(tf.train.Checkpoint(model=model), CHECKPOINTS, max_to_keep=1).save()

def learn(inputs, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(inputs, training=True) - labels) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

def train_step(iterator):
    inputs, labels = next(iterator)
    losses = strategy.run(learn, args=(inputs, labels))
    total = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)
    return {"Loss/a_part_of_the_loss": 0.0 * total - 1.0, "Loss/total_loss": total}

step = tf.function(train_step) if COMPILED else train_step
iterator = iter(strategy.experimental_distribute_dataset(batches))
for _ in range(60):
    step(iterator)
    time.sleep(0.02)
"""


def watched(folder: Path, home: Path, devices: list[str], compiled: bool, broken: bool = False) -> Journal:
    settings = f"DEVICES, COMPILED, BROKEN, CHECKPOINTS = {devices!r}, {compiled!r}, {broken!r}, {str(folder / 'saved')!r}\n"
    return watch(textwrap.dedent(LOOP), folder, home, preamble=TENSORFLOW + settings)


@pytest.mark.parametrize("compiled", [True, False])
def test_two_replicas_make_one_step_together(compiled: bool, tmp_path: Path, own_home: Path) -> None:
    journal = watched(tmp_path, own_home, ["CPU:0", "CPU:1"], compiled)
    (fit,) = journal.of(FitBegan)
    assert fit.api == "own_loop"
    steps = journal.of(StepsEnded)
    assert steps[-1].last == 59
    losses = [group.loss for group in steps if group.loss is not None]
    assert losses and losses[-1] < losses[0] and min(losses) >= 0
    assert not facts(journal, "turns")
    assert not [stall for stall in journal.of(StallBegan) if stall.step < 60]  # on a busy machine the exit may take long
    assert not diagnose(journal).findings


def test_a_loss_that_is_nan_is_found_with_one_replica(tmp_path: Path, own_home: Path) -> None:
    journal = watched(tmp_path, own_home, ["CPU:0"], compiled=True, broken=True)
    assert journal.of(StepsEnded)[-1].last == 59
    assert [finding.cause for finding in diagnose(journal).findings] == ["loss_not_finite"]
