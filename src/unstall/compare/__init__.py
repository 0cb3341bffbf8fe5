"""What a run was, written down so that two of them can be compared; and which difference explains how they differed."""
