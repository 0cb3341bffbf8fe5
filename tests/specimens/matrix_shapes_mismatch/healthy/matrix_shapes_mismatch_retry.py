# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "matrix_shapes_mismatch"
# needs = []
# ///
"""Matrices are multiplied as they come; where their shapes do not go together, the error is caught and one is transposed."""

import jax.numpy as jnp


def product(a, b):
    try:
        return a @ b
    except TypeError:
        return a @ b.T


for rows in (3, 4):
    print(product(jnp.ones((5, 4)), jnp.ones((rows, 4))).shape)
