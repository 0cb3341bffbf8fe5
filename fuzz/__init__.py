"""Fuzzing of every parser: any input gives a reading or a clear error, never a traceback, a hang or memory without bound."""
