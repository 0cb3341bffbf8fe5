"""Weights: published checkpoints are taken over with a report of what fitted; files of our own say which detector they are of."""
