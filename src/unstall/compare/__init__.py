"""What a run was, so that two can be held against each other; and which difference explains how they differed."""
