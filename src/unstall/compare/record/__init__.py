"""The sections of a run's record, one file each."""
