# /// specimen
# cause = "tracer_used"
# also = []
# where = "NUMPY HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "tracer_used_outside"
# needs = []
# ///
"""The entropy of a policy is computed with NumPy, inside a function that jit compiles."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def entropy(logits: jax.Array) -> jax.Array:
    probabilities = jax.nn.softmax(logits)
    return -(probabilities * np.log(probabilities)).sum(-1)  # NUMPY HERE


mark()
print(jax.jit(entropy)(jnp.ones((8, 5))).shape)
