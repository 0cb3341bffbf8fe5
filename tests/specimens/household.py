"""Keeps a specimen's household in order: processes that it forks die with it, however it ends."""

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1


def children_die_with_me() -> None:
    """For forked children. Those that are started anew call die_with_parent themselves."""
    os.register_at_fork(after_in_child=die_with_parent)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
