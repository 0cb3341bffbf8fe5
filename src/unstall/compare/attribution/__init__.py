"""Which difference explains which change."""
