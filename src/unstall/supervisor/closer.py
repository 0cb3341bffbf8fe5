"""What is looked at, beside the stacks, in a program that stands still: its threads, children, source, cluster and data bases.

All of it is read from /proc and from files, and stops nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from unstall.journal.events import Event, StackSampled, ThreadsSeen
from unstall.signals import children, cluster, databases, libraries, sources, threads


def look_at_threads(pid: int, others: Sequence[int] = ()) -> list[ThreadsSeen]:
    """Cheap: done with every sample. A native sample wakes all threads, so this comes before it."""
    seen = [threads.sample(pid), *(threads.sample(other, main=False) for other in others)]
    return [event for event in seen if event is not None]


def look_around(pid: int, others: Sequence[int], samples: Sequence[Event]) -> list[Event]:
    """Once, when the stacks have been sampled."""
    stacks = [sample for sample in samples if isinstance(sample, StackSampled)]
    around: list[Event | None] = [libraries.sample(pid), *(cluster.sample(each) for each in (pid, *others))]
    around += [databases.sample(each, main=each == pid) for each in (pid, *others)]
    return [*children.sample(others), *sources.read(stacks), *(event for event in around if event is not None)]
