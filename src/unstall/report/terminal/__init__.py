"""The story and other results as text for a terminal."""
