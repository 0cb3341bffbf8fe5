"""The story and other results as pages."""
