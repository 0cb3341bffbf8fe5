"""Detectors as files for other runtimes."""
