"""What happened, as events: written by one process each, read by anybody, also while being written."""
