"""What JAX's compiler leaves in a process that trains, as the record of the run tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compare.record.test_programs import recorded
from unstall.journal.events import CompilationsCounted
from unstall.journal.reader import read_folder
from unstall.storage import run_lookup

FIT = """
import os, sys
os.environ["KERAS_BACKEND"] = "jax"
sys.modules["tensorflow"] = None
import keras
import numpy as np
model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.zeros((64, 8, 8, 3), "float32"), np.zeros((64, 1), "float32"), batch_size=8, epochs=2, verbose=0)
"""


@pytest.mark.jax
def test_it_is_counted_up_to_the_first_step_and_is_a_part_of_the_peak(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FIT)
    figures = recorded(tmp_path)["figures"]
    assert 0 < figures["compiler_bytes"] < figures["host_peak_bytes"]
    result = read_folder(run_lookup.find("last").path).of(CompilationsCounted)
    assert result[-1].framework == "jax" and result[-1].compilations > 1
    assert result[-1].grown_bytes == figures["compiler_bytes"], "the step was compiled once"
