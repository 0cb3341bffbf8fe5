"""One file per cause. The folder is the registry: a new file is a new cause."""
