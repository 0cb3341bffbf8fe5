"""What every hook needs: the probe itself, its shield, patches of frameworks, the frames of the user."""
