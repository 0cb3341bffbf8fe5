"""What the stack of a process that is attached to says about what it is in."""

import pytest

from tests.diagnosis.builders import lib, main, py, stacks
from unstall.supervisor.attach import snapshot


@pytest.mark.parametrize(
    ("function", "phase"), [("fit", "train"), ("Model.fit_generator", "train"), ("evaluate_generator", "validate"), ("build", "")]
)
def test_the_phase_that_a_stack_of_keras_shows(function: str, phase: str) -> None:
    sample = stacks(main(lib("keras/engine/training.py", function), py("train.py", "<module>", 3)), at=1)
    assert snapshot._phase([sample]) == phase
