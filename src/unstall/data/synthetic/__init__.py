"""A data set of drawn shapes, with defects on request."""
