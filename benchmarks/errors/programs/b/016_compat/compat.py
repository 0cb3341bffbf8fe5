"""Names that moved between versions of NumPy and JAX."""
import jax
import numpy as np

try:
    tree_map = jax.tree_map
except AttributeError:
    tree_map = jax.tree.map

try:
    trapezoid = np.trapz
except AttributeError:
    trapezoid = np.trapezoid

try:
    from jax.config import config
except ImportError:
    from jax import config


def scalar_type(name):
    for candidate in (name, name + "_", name + "64"):
        try:
            return getattr(np, candidate)
        except AttributeError:
            continue
    raise LookupError(name)
