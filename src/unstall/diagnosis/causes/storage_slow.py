"""The training waits for its data to be read: the disk or the network is slower than the model.

What it is
----------
The files lie on a network disk, a bucket, an overloaded volume. They arrive more slowly than the training uses them up;
neither the CPU nor the device has much to do.

How we know
-----------
The steps wait for their input, and the input waits for reading: threads are in the kernel's wait for a disk in many looks
while the CPU has little to do; or the stage that takes the time reads files, and nothing computes; or the stack samples find
the program's input code in a read from a file or the network, not computing.

When this is wrong
------------------
If another program uses the same disk at this moment. If the files are read for the first time and lie in memory later, the
second epoch is faster, and the verdict is taken back.

What to do
----------
Copy the data to a local disk before the training, or read more at a time: several files in parallel (`interleave`), larger
files (TFRecord shards of 100 MB rather than single pictures), and fetch ahead.
"""

from __future__ import annotations

from unstall.diagnosis.causes.input_starved import describe_wait, wait_evidence
from unstall.diagnosis.input_starvation import RESTS_CORES, InputStarvation, PythonInput, find_starvation
from unstall.diagnosis.pipelines import StageWork
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import FitBegan, SampleFailed
from unstall.journal.reader import Journal

DISK_WAIT_SHARE = 0.4  # of the looks must find a thread waiting for a disk
IDLE_CORES = 0.6  # the program must use fewer, or it is its own work that is slow
READS_S = 50_000.0  # bytes: what is read from the disk meanwhile, or it waits for something else

EXPLAINS = ("input_starved",)
_READING = ("the network", "a file", "a file or pipe", "a file to open", "a file or socket to become ready", "a disk")


def examine(journal: Journal) -> Verdict:
    looked = find_starvation(journal)
    if isinstance(looked, str):
        return Clear(looked) if journal.last(FitBegan) is not None else Unknown("a training: no steps were seen")
    if looked.cores is None:
        return Unknown("how much CPU the program uses")
    python = looked.python
    reads = python is not None and python.awaits in _READING and not python.computes
    if python is not None and reads and python.awaits == "the network":
        return _found(looked, python, None, ())
    if looked.cores >= IDLE_CORES:
        return Clear(f"the program computes: it uses {looked.cores:.1f} cores")
    disk, hardest = _from_disk(looked), looked.hardest
    only_reads = hardest is not None and not hardest[0].is_python and _may_read(hardest[0]) and looked.cores < RESTS_CORES
    if not disk and not reads and not only_reads:
        return Clear("no thread waits for a disk")
    if python is not None and (hardest is None or hardest[0].is_python):
        return _found(looked, python, None, disk) if not python.computes else Clear("the input's Python code computes")
    if hardest is not None and not _may_read(hardest[0]):
        return Clear(f"the input waits for {hardest[0].words}, which reads no files")
    if hardest is None and journal.last(SampleFailed) is None:
        return Clear("threads wait for a disk; whose, the next samples will tell")
    return _found(looked, None, hardest[0] if hardest is not None else None, disk)


def _from_disk(looked: InputStarvation) -> tuple[Evidence, ...]:
    """That threads wait for a disk, and what comes from it."""
    rate = sum(host.disk_read_bytes_s for host in looked.hosts) / max(1, len(looked.hosts))
    if looked.disk_wait_share < DISK_WAIT_SHARE or rate < READS_S:
        return ()
    return (
        Evidence(
            f"in {looked.disk_wait_share:.0%} of {len(looked.hosts)} looks a thread waits for a disk",
            looked.disk_wait_share,
            DISK_WAIT_SHARE,
            looked.hosts[-5:],
        ),
        Evidence(f"{rate / 1e6:.2g} MB a second come from the disk", rate, None, looked.hosts[-5:]),
    )


def _may_read(stage: StageWork) -> bool:
    return stage.kind in {"reader", "interleave", "flat_map"} or "reading" in stage.does


def _found(looked: InputStarvation, python: PythonInput | None, stage: StageWork | None, disk: tuple[Evidence, ...]) -> Found:
    evidence = [wait_evidence(looked), *disk]
    if python is not None:
        does = f"waits for {python.awaits}" if python.awaits else "stands"
        reading = f"Your input code {does} in {python.function} at {python.place}"
        count = len(python.samples)
        claim = f"{count} of {python.looked} samples find the input in {python.function} ({python.place})"
        evidence.append(Evidence(claim, count, None, python.samples))
    else:
        at = f" at {stage.where}" if stage is not None and stage.where else ""
        what = (
            f"Most of the pipeline's work is {stage.words}" if stage is not None else "Which part of the input reads was not seen"
        )
        reading = f"{what}{at}"
    rate = sum(host.disk_read_bytes_s for host in looked.hosts) / max(1, len(looked.hosts))
    speed = f" {rate / 1e6:.2g} MB a second come from the disk, and threads wait for it." if disk else ""
    assert looked.cores is not None
    idle = " The CPU has little to do." if looked.cores < IDLE_CORES else ""
    evidence.append(Evidence(f"the program uses {looked.cores:.1f} cores meanwhile", looked.cores, IDLE_CORES, looked.hosts[-5:]))
    return Found(
        certainty=Certainty.CERTAIN if disk and looked.wait is not None else Certainty.LIKELY,
        summary=f"{describe_wait(looked)} {reading}.{speed}{idle}",
        evidence=tuple(evidence),
        actions=(
            "copy the data to a local disk before the training",
            "or read several files at once (interleave with num_parallel_calls) and fetch ahead (prefetch)",
            "or keep it in fewer, larger files: TFRecord shards of about 100 MB",
        ),
        where=python.place if python is not None else stage.where if stage is not None else None,
        effect=Effect.SLOWS,
    )
