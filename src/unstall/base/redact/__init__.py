"""Secrets are replaced in everything that is written down or printed."""
