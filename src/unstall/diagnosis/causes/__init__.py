"""One file per cause. The folder is the registry: a new file is a new cause."""

from unstall.base.registry import Registry

CAUSES = Registry(__name__, "cause", listing="`unstall causes` lists all {count}.")
