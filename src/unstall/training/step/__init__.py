"""One training step, compiled, on each backend."""
