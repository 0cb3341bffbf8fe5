"""Before the first step: would this run, on this machine, with this data? One file of `checks/` asks one thing.

Checks run in a process of their own (`python -m unstall.planning.preflight`), so that one that crashes or hangs costs its own
answer only, and whoever asks loads neither NumPy nor a framework.
"""
