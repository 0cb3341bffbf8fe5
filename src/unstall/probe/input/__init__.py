"""Batches and the pipelines that make them."""
