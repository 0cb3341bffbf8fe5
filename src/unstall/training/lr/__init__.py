"""Learning rates: schedules, and the search for a good one."""
