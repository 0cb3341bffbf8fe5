"""Views of a run. A story is plain data; a view computes nothing."""
