"""The data side: formats become examples, examples are checked, and become batches. Needs NumPy and a decoder: unstall[data]."""
