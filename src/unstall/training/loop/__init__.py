"""The loop of a training: its worker, data sets, setup and progress."""
