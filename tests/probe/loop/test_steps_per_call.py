"""Several steps in one call of a tf.function, in a loop of the graph, under MirroredStrategy: steps, input wait and the pulse."""

from __future__ import annotations

import json
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

from tests.probe.watched_programs import TENSORFLOW, facts
from tests.programs import run_watched, write
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.input_starvation import measure_wait
from unstall.journal.events import ProbeFailed, SignalsSeen, StallBegan, StepsEnded
from unstall.journal.reader import Journal, read_folder

pytestmark = pytest.mark.tensorflow

PROGRAM = """
import json, sys, threading, time

strategy = tf.distribute.MirroredStrategy(["CPU:0"])
x, y = data()

def delay(inputs):
    time.sleep(DELAY_S)
    return inputs

def late(inputs, labels):
    delayed = tf.numpy_function(delay, [inputs], tf.float32)
    delayed.set_shape(inputs.shape)
    return delayed, labels

with strategy.scope():
    model = model_of(1)
    optimizer = keras.optimizers.SGD(0.02)
    optimizer.build(model.trainable_variables)
batches = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16, drop_remainder=True).map(late)
batches = (batches.prefetch(2) if FETCH_AHEAD else batches).repeat()

def learn(inputs, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(inputs, training=True) - labels) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

def sample_and_learn(iterator):
    losses = strategy.run(learn, args=next(iterator))
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

@tf.function
def learn_for_a_while(iterator):
    for _ in tf.range(STEPS - 1):
        with tf.name_scope(""):
            sample_and_learn(iterator)
    return sample_and_learn(iterator)

def look():
    from unstall.journal.pulse import read_pulse
    from unstall.probe.core.probe import get_current
    while get_current() is None or not is_over:
        beat = read_pulse(get_current().pulse.path) if get_current() is not None else None
        if beat is not None:
            pulses.append([beat.step, calls])
        time.sleep(0.2)

iterator = iter(strategy.experimental_distribute_dataset(batches))
pulses, calls, is_over = [], 0, False
watcher = threading.Thread(target=look)
watcher.start()
for _ in range(CALLS):
    learn_for_a_while(iterator)
    calls += 1
    time.sleep(0.15)
is_over = True
watcher.join()
print(json.dumps(pulses))
"""


def watched(
    folder: Path, home: Path, steps: int, calls: int, delay_s: float, fetch_ahead: bool = True
) -> tuple[Journal, list[list[int]]]:
    settings = f"STEPS, CALLS, DELAY_S, FETCH_AHEAD = {steps}, {calls}, {delay_s}, {fetch_ahead}\n"
    seen = run_watched(write(folder, TENSORFLOW + settings + textwrap.dedent(PROGRAM)))
    assert seen.code == 0, seen
    journal = read_folder(next(home.iterdir()))
    assert not journal.of(ProbeFailed), journal.of(ProbeFailed)
    return journal, json.loads(seen.out.splitlines()[-1])


def test_steps_are_counted_and_waits_measured_where_batches_are_late(tmp_path: Path, own_home: Path) -> None:
    journal, pulses = watched(tmp_path, own_home, steps=20, calls=4, delay_s=0.15)
    groups = journal.of(StepsEnded)
    assert groups[-1].last == 79
    (call,) = facts(journal, "steps_per_call")
    assert call["function"] == "learn_for_a_while"
    assert [group.loss for group in groups if group.loss is not None]
    wait = measure_wait(groups)
    assert wait is not None and wait.share > 0.5
    assert not journal.of(StallBegan)
    within = [after for before, after in pairwise(pulses) if before[1] == after[1] and before[0] < after[0]]
    assert [step for step, call in within if 0 < step - 20 * call < 20]  # the pulse gets on while a call lasts


def test_batches_that_are_ready_are_not_waited_for(tmp_path: Path, own_home: Path) -> None:
    journal, _ = watched(tmp_path, own_home, steps=30, calls=12, delay_s=0.0)
    groups = journal.of(StepsEnded)
    assert groups[-1].last == 359
    assert measure_wait(groups) is not None
    assert not diagnose(journal).findings


def test_a_wait_that_cannot_be_told_from_work_is_not_seen_and_that_is_said(tmp_path: Path, own_home: Path) -> None:
    journal, _ = watched(tmp_path, own_home, steps=5, calls=3, delay_s=0.05, fetch_ahead=False)
    groups = journal.of(StepsEnded)
    assert groups[-1].last == 14
    assert measure_wait(groups) is None
    assert "input wait" in journal.of(SignalsSeen)[-1].not_seen["tensorflow"]
