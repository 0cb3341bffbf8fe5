"""`unstall attach`."""
