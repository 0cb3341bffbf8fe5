"""What happened in a run, as plain data."""
