"""The program's memory does not fit, and the kernel moves it to the disk and back all the time.

What it is
----------
The program uses more memory than there is for it; what does not fit lies in swap space on the disk. As long as those parts are
not needed this does no harm. When every step needs some of them, each waits for the disk: the training crawls and the processor
is half idle.

How we know
-----------
In most of the last samples memory was read back from swap space, the program itself had page faults that went to the disk
at the same time, and a part of its own memory lies in swap space. Memory that was swapped out once and is not needed is not
counted.

When this is wrong
------------------
If the program comes back from a pause and fetches its memory once: that ends by itself, and the verdict is taken back.

What to do
----------
Use less memory: smaller batches and buffers, fewer workers, float32 or uint8 instead of float64, a data set that is read
piece by piece. Or give the program more of it, and end what else uses it.
"""

from __future__ import annotations

from statistics import median

from unstall.base.formatting import format_size
from unstall.diagnosis.host_memory import measure_room
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import HostSampled, StepsEnded
from unstall.journal.reader import Journal

EXPLAINS = (
    "input_starved",
    "python_in_pipeline",
    "storage_slow",
    "checkpoint_slow",
    "shuffle_buffer_filling",
    "generator_blocked",
)
LOOKED_AT_S = 15.0
MIN_S = 10.0  # of samples, before anything is said
MAX_SHARE = 0.7  # of the samples that must show it
SWAPPED_IN_BYTES_S = 4 << 20
SLOW_DISK_BYTES_S = 512 << 10  # enough where threads are seen waiting for the disk as well
WAITING_SHARE = 0.3
FAULTS_S = 50.0  # of the program itself: somebody else's swapping is not its own
SWAPPED_BYTES = 16 << 20


def examine(journal: Journal) -> Verdict:
    hosts = [host for host in journal.of(HostSampled) if host.interval_s > 0]
    if not hosts:
        return Unknown("samples of the host's memory")
    recent = [host for host in hosts if host.at > hosts[-1].at - LOOKED_AT_S]
    if recent[-1].at - recent[0].at < MIN_S:
        return Clear("nothing has been swapped for long enough")
    waiting = sum(host.io_wait_threads > 0 for host in recent) / len(recent)
    needed = SLOW_DISK_BYTES_S if waiting >= WAITING_SHARE else SWAPPED_IN_BYTES_S
    swapping = [host for host in recent if _swaps(host, needed)]
    if len(swapping) < MAX_SHARE * len(recent):
        return Clear("memory that lies in swap space, if any, is not needed")
    return _found(journal, swapping, len(recent), waiting)


def _swaps(host: HostSampled, needed: int) -> bool:
    return host.swap_in_bytes_s >= needed and host.major_faults_s >= FAULTS_S and host.swapped_bytes >= SWAPPED_BYTES


def _found(journal: Journal, swapping: list[HostSampled], count: int, waiting: float) -> Found:
    largest, events = max(swapping, key=lambda host: host.anon_bytes + host.swapped_bytes), tuple(swapping)
    rate = median(host.swap_in_bytes_s for host in swapping)
    faults = median(host.major_faults_s for host in swapping)
    slower = _slower(journal, swapping[0].at)
    evidence = [
        Evidence(
            f"{format_size(rate)} a second are read back from swap space, in {len(swapping)} of {count} samples",
            rate,
            SWAPPED_IN_BYTES_S,
            events,
        ),
        Evidence(f"{faults:,.0f} of the program's memory accesses a second go to the disk", faults, FAULTS_S, events),
        Evidence(
            f"{format_size(largest.swapped_bytes)} of the program's memory lie in swap space",
            largest.swapped_bytes,
            None,
            (largest,),
        ),
    ]
    if waiting >= WAITING_SHARE:
        evidence.append(
            Evidence(f"threads wait for the disk in {waiting * 100:.0f} % of the samples", waiting, WAITING_SHARE, events)
        )
    evidence += [slower] if slower else []
    left = measure_room(largest)
    limit = f", and {left.of} is {format_size(left.limit_bytes)}" if left else ""
    needs = format_size(largest.anon_bytes + largest.swapped_bytes)
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The program has {needs} of memory{limit}: {format_size(rate)} a second are read back from swap space, "
        "and the program waits for the disk meanwhile.",
        evidence=tuple(evidence),
        actions=(
            "use less memory: smaller batches and buffers, fewer workers, data read piece by piece",
            "or give the program more of it: a higher limit, a larger machine, or end what else uses it",
        ),
        effect=Effect.SLOWS,
    )


def _slower(journal: Journal, since: float) -> Evidence | None:
    """Steps before and during the swapping, where there were any before."""
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train" and group.first > 0]
    before = [group.seconds / (group.last - group.first + 1) for group in groups if group.at < since]
    during = [group.seconds / (group.last - group.first + 1) for group in groups if group.at >= since]
    if len(before) < 3 or not during or median(during) < 2 * median(before):
        return None
    claim = f"steps took {median(before):.2g} s before, and take {median(during):.2g} s now"
    return Evidence(claim, median(during), median(before), tuple(groups[-3:]))
