"""The clocks of the machines that train together are apart.

What it is
----------
Each machine has a clock of its own. Where one is not set by a time server, certificates and tokens are refused as expired
or not yet valid, signed requests to a bucket fail, a lease runs out early, and logs of two machines cannot be read side by
side.

How we know
-----------
The runs of several workers are read together (`unstall diagnose RUN RUN…`). In lock-step a step ends on all of them at the
same moment, so that the difference of the times that they write down for it is the difference of their clocks; how far that
spreads, and at least the length of a step, is how well it is known. That they are in lock-step shows by what disturbs them:
it disturbs all alike. Workers of `unstall train` ask each other for the time when they meet: that holds until steps show more.

When this is wrong
------------------
When the workers do not wait for each other: then nothing is said, as two runs that go evenly may be a constant time apart.
Workers of one machine, by the number that its kernel has drawn at its start, have one clock.

What to do
----------
Let every machine set its clock by the same time server (`timedatectl set-ntp true`, chrony; on Google Cloud
metadata.google.internal), and see with `timedatectl` whether it does.
"""

from __future__ import annotations

from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.diagnosis.workers.clock_offset import Offset, estimate_offset
from unstall.diagnosis.workers.members import Member, RunGroup
from unstall.journal.events import MembershipSeen
from unstall.journal.reader import Journal

MAX_OFFSET_S = 2.0  # a machine that keeps time by a server is within a tenth of a second
TIMES_ERROR = 5.0  # so many times as far as it is known
SAME_CLOCK_S = 0.5  # two readings of one machine's clock, taken at different times

_DO = (
    "let every machine set its clock by a time server: timedatectl set-ntp true",
    "see on the machine that is named whether it does: timedatectl",
)


def examine(journal: Journal) -> Verdict:
    if journal.last(MembershipSeen) is None:
        return Clear("the program tells of no other workers")
    return Unknown("the runs of the other workers, to be read together: unstall diagnose RUN RUN…")


def examine_workers(run_group: RunGroup) -> Verdict:
    """Against the first worker; where it is the one that is off, against all the others alike."""
    first, *others = run_group.members
    known = [
        (other, result)
        for other in others
        if (result := estimate_offset(first.journal, other.journal)) is not None and result.is_locked
    ]
    known = [(other, result) for other, result in known if not _is_one_clock(first, other)]
    if not known:
        if all(_is_one_clock(first, other) for other in others):
            return Clear("all workers have one clock")
        return Unknown("steps that workers of several machines have made in lock-step")
    offsets = [(other, result) for other, result in known if _differs(result)]
    if not offsets:
        most = max(abs(result.seconds) for _, result in known)
        return Clear(f"the clocks are within {most:.1f} s of each other")
    if len(offsets) == len(others) > 1 and _are_alike(offsets):
        return _found(run_group, [(first, result) for _, result in offsets], others[0], is_first=True)
    return _found(run_group, offsets, first, is_first=False)


def _is_one_clock(one: Member, other: Member) -> bool:
    """Of one machine, whose clock stands the same to the time since its start."""
    first, second = one.machine, other.machine
    if first is None or second is None or not first.boot_id or first.boot_id != second.boot_id:
        return False
    return abs(first.clock_s - second.clock_s) < SAME_CLOCK_S


def _differs(clock_offset: Offset) -> bool:
    return abs(clock_offset.seconds) >= max(MAX_OFFSET_S, TIMES_ERROR * clock_offset.error_s)


def _are_alike(offsets: list[tuple[Member, Offset]]) -> bool:
    seconds = [result.seconds for _, result in offsets]
    return max(seconds) - min(seconds) < MAX_OFFSET_S


def _found(run_group: RunGroup, offsets: list[tuple[Member, Offset]], against: Member, is_first: bool) -> Found:
    """`is_first`: all the others agree, so that the first is off, the other way."""
    member, result = max(offsets, key=lambda each: abs(each[1].seconds))
    seconds = -result.seconds if is_first else result.seconds
    way = "ahead of" if seconds > 0 else "behind"
    host = f" ({member.host})" if member.host else ""
    rest = "the others" if is_first or len(run_group.members) > 2 else against.name
    claim = f"{result.steps} steps that ended on both at the same moment were written down {abs(result.seconds):.1f} s apart"
    if not result.steps:
        claim = f"when they met, the times that they told each other were {abs(result.seconds):.1f} s apart"
    return Found(
        Certainty.CERTAIN,
        f"The clock of {member.name}{host} is {abs(seconds):.1f} s {way} that of {rest} (± {result.error_s:.1f} s).",
        (
            Evidence(claim, result.seconds, MAX_OFFSET_S, result.events),
            Evidence(f"this difference is known within {result.error_s:.2f} s", result.error_s, None, result.events),
        ),
        _DO,
        effect=Effect.SPOILS,
        details={"workers": [] if is_first else [other.worker for other, _ in offsets], "seconds": seconds},
    )
