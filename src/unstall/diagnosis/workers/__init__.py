"""Runs that are workers of one training, read together."""
