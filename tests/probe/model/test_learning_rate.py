"""The learning rate as it is now: the formulas agree with Keras's own schedules."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from unstall.probe.model import learning_rate

COMPARE = """
import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
from unstall.probe.model import learning_rate
S = keras.optimizers.schedules
schedules = [
    S.ExponentialDecay(1e-2, 10, 0.9), S.ExponentialDecay(1e-2, 10, 0.9, staircase=True), S.InverseTimeDecay(1e-2, 10, 0.5),
    S.PolynomialDecay(1e-2, 50, 1e-4, power=2.0), S.PolynomialDecay(1e-2, 20, 1e-4, cycle=True),
    S.PiecewiseConstantDecay([10, 30], [1.0, 0.5, 0.1]), S.CosineDecay(1e-2, 40, alpha=0.1),
    S.CosineDecay(0.0, 40, warmup_target=1e-2, warmup_steps=15),
]
for schedule in schedules:
    optimizer = keras.optimizers.SGD(schedule)
    for step in (1, 7, 10, 11, 25, 31, 60):
        ours, theirs = learning_rate.read_current_rate(optimizer, step, float), float(schedule(step))
        assert ours is not None and abs(ours - theirs) <= 1e-6 + 1e-4 * abs(theirs), (type(schedule).__name__, step, ours, theirs)
print("agree")
"""


@pytest.mark.jax
def test_the_formulas_agree_with_keras() -> None:
    done = subprocess.run([sys.executable, "-c", COMPARE], capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout.strip() == "agree", done.stderr[-800:]


def test_a_schedule_of_the_users_own_is_never_called() -> None:
    def schedule(step: int) -> float:
        raise AssertionError("called")

    assert learning_rate.read_current_rate(SimpleNamespace(_learning_rate=schedule), 3, float) is None


def test_a_variable_is_read() -> None:
    variable = SimpleNamespace(assign=None)
    assert learning_rate.read_current_rate(SimpleNamespace(_learning_rate=variable), 3, lambda given: 0.5) == 0.5
    of_keras_2 = SimpleNamespace(_hyper={"learning_rate": variable})
    assert learning_rate.read_current_rate(of_keras_2, 3, lambda given: 0.75) == 0.75
    assert learning_rate.read_current_rate(SimpleNamespace(_hyper={"learning_rate": 0.1}), 3, float) == 0.1
    assert learning_rate.read_current_rate(SimpleNamespace(_hyper={}), 3, float) is None
    inner = SimpleNamespace(_learning_rate=variable)
    assert learning_rate.read_current_rate(SimpleNamespace(inner_optimizer=inner), 3, lambda given: 0.25) == 0.25


def test_the_places_of_older_versions() -> None:
    of_2_4 = SimpleNamespace(_hyper={"learning_rate": 0.5, "decay": 0.1}, _initial_decay=0.1)
    assert learning_rate.read_current_rate(of_2_4, 10, float) == pytest.approx(0.25)
    schedule = SimpleNamespace(_hyper={"learning_rate": lambda: 0.5})
    assert learning_rate.find_rate(schedule) is not None and learning_rate.read_current_rate(schedule, 3, float) is None
    assert learning_rate.read_current_rate(SimpleNamespace(_lr=0.25), 3, float) == 0.25
    assert learning_rate.find_rate(SimpleNamespace(rate=0.25)) is None


def test_what_the_program_itself_computes_is_not_known() -> None:
    assert learning_rate.is_known(SimpleNamespace(learning_rate=0.25))
    assert not learning_rate.is_known(SimpleNamespace(learning_rate=lambda: 0.25))
    assert not learning_rate.is_known(SimpleNamespace(rate=0.25))


def test_a_setting_is_the_number_that_the_optimizer_was_made_with() -> None:
    assert learning_rate.find_setting(SimpleNamespace(_hyper={"momentum": 0.9}, momentum="a tensor"), "momentum") == 0.9
    assert learning_rate.find_setting(SimpleNamespace(momentum=0.5), "momentum") == 0.5
    assert learning_rate.find_setting(SimpleNamespace(), "momentum") is None
