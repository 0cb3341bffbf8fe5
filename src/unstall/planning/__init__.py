"""Before the first step: how much memory a run needs, and whether anything would stop it."""
