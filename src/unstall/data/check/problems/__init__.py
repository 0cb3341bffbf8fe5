"""One file per defect. The folder is the registry: a new file is a new problem."""

from unstall.base.registry import Registry

PROBLEMS = Registry(__name__, "problem", listing="`unstall data problems` lists all {count}.")
