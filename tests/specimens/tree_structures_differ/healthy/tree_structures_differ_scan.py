# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "tree_structures_differ"
# needs = []
# ///
"""scan with a dictionary as its carry, and None as a part that is not used."""

import jax
import jax.numpy as jnp


def advance(carry, x):
    hidden = jnp.tanh(carry["hidden"] + x)
    return {"hidden": hidden, "mask": None}, hidden


if __name__ == "__main__":
    carry, outputs = jax.lax.scan(advance, {"mask": None, "hidden": jnp.zeros(4)}, jnp.ones((16, 4)))
    print(outputs.shape)
