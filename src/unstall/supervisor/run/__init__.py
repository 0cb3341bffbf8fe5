"""`unstall run` and `unstall confirm`."""
