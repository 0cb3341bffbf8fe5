"""The watcher: another process, because what freezes a training freezes everything inside it."""
