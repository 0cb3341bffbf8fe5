"""A training on several processes: who takes part (membership), how they are started (engines), what they tell each other."""
