"""Checkpoints: their files, their integrity, and how a training resumes from one."""
