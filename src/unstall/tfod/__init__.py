"""From the TF Object Detection API: its pipeline.config becomes settings, and what became of every field is told.

Nothing of the API is needed. `converting.convert` reads a file; each of the other pieces carries over a part of it.
"""
