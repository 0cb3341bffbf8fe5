"""Whether a training is well: its loss, its gradients, its batches."""
