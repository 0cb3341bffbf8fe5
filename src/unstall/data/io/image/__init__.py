"""The headers and the orientation of image files."""
