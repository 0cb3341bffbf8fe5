"""The fit of Keras: callbacks, saves, interrupts, experiments."""
