# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "tracer_used"
# needs = []
# ///
"""NumPy is used on what the traced function returned; that a function cannot be traced is found out by trying."""

import jax
import jax.numpy as jnp
import numpy as np


def entropy(probabilities):
    return -(probabilities * np.log(probabilities)).sum(-1)


probabilities = jax.jit(jax.nn.softmax)(jnp.ones((8, 5)))
try:
    print(jax.jit(entropy)(probabilities).shape)
except jax.errors.TracerArrayConversionError:
    print(entropy(np.asarray(probabilities)).shape)
