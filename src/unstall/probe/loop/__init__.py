"""Training loops of one's own: steps, losses, replicas, traces."""
