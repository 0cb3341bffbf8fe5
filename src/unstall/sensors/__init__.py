"""What is seen from outside, one file per source. A signal decides nothing; that it could not look is an event too."""
