"""Training a detector: what `fit` needs of it, and how well it does."""
