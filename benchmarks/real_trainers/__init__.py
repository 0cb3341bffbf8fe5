"""Trainers that people use, installed from PyPI, with real faults: what `unstall run` and `unstall attach` say of each."""
