"""What the program prints, on its way out: a relay beside it copies the bytes and gives the watcher a second copy."""
