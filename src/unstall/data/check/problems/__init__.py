"""One file per defect. The folder is the registry: a new file is a new problem."""
