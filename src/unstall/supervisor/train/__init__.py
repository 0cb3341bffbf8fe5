"""`unstall train`: its workers, their faults and restarts."""
