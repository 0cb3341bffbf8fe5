"""The settings of the detectors, free of Keras."""
