"""A method that is hooked looks to the framework, and to the program, as it does alone: its name, its signature, its arguments."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tensorflow

PROGRAM = """
import gc, inspect, json, os, sys, types
import keras
import numpy as np
import tensorflow as tf

def arguments(function):
    try:
        return str(inspect.getfullargspec(function)), str(inspect.signature(function)), function.__name__
    except (TypeError, ValueError):
        return None

keras.layers.Layer()  # Keras asks for the arguments of its __init__
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0)
model.save_weights(os.path.join(sys.argv[1], "last.weights.h5"))
modules = [module for module in sys.modules.values() if isinstance(module, types.ModuleType)]
owners = [*modules, *(each for each in gc.get_objects() if isinstance(each, type))]
held = [each for owner in owners for each in list(vars(owner).values())]
hooked = [each for each in held if isinstance(each, types.FunctionType) and "_unstall_original" in vars(each)]
changed = []
for each in hooked:
    innermost = each
    while hasattr(innermost, "_unstall_original"):
        innermost = innermost._unstall_original
    if arguments(each) != arguments(innermost):
        changed.append([each.__qualname__, arguments(each), arguments(innermost)])
print(json.dumps({"hooked": len(hooked), "changed": changed}))
"""


def test_hooked_methods_keep_their_signatures_and_models_can_be_saved(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "unstall", "run", "--quiet", "--", sys.executable, str(program), str(tmp_path)]
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["hooked"] > 30
    assert not seen["changed"]
    assert (tmp_path / "last.weights.h5").exists()
