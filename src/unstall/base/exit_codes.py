"""Exit codes that say how something ended. Those of a user's mistake belong to the errors (errors.py).

`attach` and `diagnose` end with their answer: 0 where nothing is wrong in what could be seen, or one of the first two below. A
worker of `unstall train` ends with an `ExitCode`, by which its supervisor knows what has happened; with any other, it died.
"""

from __future__ import annotations

from enum import IntEnum

VERDICT_FOUND = 10  # what is wrong was found
CANNOT_TELL = 11  # too little could be seen, or no cause was found for what is wrong


class ExitCode(IntEnum):
    DONE = 0
    INTERRUPTED = 75  # SIGTERM or SIGINT: a checkpoint was written, and everything is in order
    OUT_OF_MEMORY = 76  # of the device, or of the host as Python noticed it
    NOT_FINITE = 77  # losses or gradients again and again: updates were skipped, the weights are good
    DIVERGED = 78  # the loss rose for good: the newest weights are not to be trusted
    OTHERS_LOST = 79  # of several workers another is gone, or did not come: this one is well
    ADDRESS_TAKEN = 80  # the port at which workers meet belongs to somebody else
    NOT_KEPT = 81  # trained to its end, but a disk did not take the weights or what else is left

    @property
    def title(self) -> str:
        """As events and people say it."""
        return self.name.lower().replace("_", " ")


DONE, INTERRUPTED, OUT_OF_MEMORY, NOT_FINITE, DIVERGED, OTHERS_LOST, ADDRESS_TAKEN, NOT_KEPT = ExitCode
