"""The model: layers, weights, gradients, the learning rate."""
