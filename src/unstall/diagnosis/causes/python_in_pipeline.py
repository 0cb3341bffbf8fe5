"""Python code makes the input, one piece at a time, and that is what limits the training.

What it is
----------
A `py_function`, a generator or a PyDataset does its work in Python. The interpreter runs one thread at a time (the GIL), so
that more workers or parallel calls make nothing faster: one core is busy, the others and the device idle.

How we know
-----------
The steps wait for their input. In most stack samples a thread of the input stands in the program's own Python code; it
computes all the time, and holds the interpreter's lock.

When this is wrong
------------------
If the lock is held by a library that could release it, and does so in another version.

What to do
----------
Write the work with TensorFlow's operations (or NumPy's, on whole arrays at once), so that it runs outside of the interpreter.
Or give it to processes: `use_multiprocessing=True` for a PyDataset, `num_workers` for a DataLoader. Or do it once, before the
training.
"""

from __future__ import annotations

from unstall.diagnosis.causes.input_starved import describe_wait, wait_evidence
from unstall.diagnosis.input_starvation import WORKS_CORES, InputStarvation, PythonInput, find_starvation
from unstall.diagnosis.pipelines import StageWork
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import FitBegan, InputDescribed, SampleFailed
from unstall.journal.reader import Journal

HOLDS_THE_LOCK = 0.5  # of the samples in which the input is in Python

EXPLAINS = ("input_starved",)
_ACTIONS = (
    "write it with TensorFlow operations, or NumPy on whole arrays, so that it does not run in the interpreter",
    "or give it to processes: use_multiprocessing=True for a PyDataset, num_workers for a DataLoader",
    "or do it once, before the training, and read the result",
)


def examine(journal: Journal) -> Verdict:
    looked = find_starvation(journal)
    if isinstance(looked, str):
        return Clear(looked) if journal.last(FitBegan) is not None else Unknown("a training: no steps were seen")
    python, hardest = looked.python, looked.hardest
    if hardest is not None and not hardest[0].is_python:
        return Clear(f"the input waits for {hardest[0].words}, which is no Python")
    if python is None and hardest is not None:
        return _by_the_stage(looked, hardest[0]) if (looked.cores or 0.0) >= WORKS_CORES else Clear("the input waits")
    if python is None:
        failed = journal.last(SampleFailed)
        if failed is not None and failed.signal == "stacks":
            return Unknown(failed.missing, failed.fix)
        return Clear("the input is not made by Python code of the program")
    if not python.computes:
        return Clear("the Python code of the input waits more than it computes")
    if python.gil_share is not None and python.gil_share < HOLDS_THE_LOCK:
        return Clear("the work is done by a library that runs beside the interpreter")
    return _found(journal, looked, python)


def _found(journal: Journal, looked: InputStarvation, python: PythonInput) -> Found:
    count = len(python.samples)
    evidence = [
        wait_evidence(looked),
        Evidence(
            f"{count} of {python.looked} samples find the input in {python.function} ({python.place})",
            count,
            None,
            python.samples,
        ),
    ]
    if python.cores is not None:
        claim = f"its threads together run, or are ready to, {python.cores:.0%} of the time"
        evidence.append(Evidence(claim, python.cores, None, python.samples[-1:]))
    if python.gil_share is not None:
        claim = f"it holds the interpreter's lock in {python.gil_share:.0%} of them"
        evidence.append(Evidence(claim, python.gil_share, HOLDS_THE_LOCK, python.samples[-3:]))
    workers = _workers(journal, looked, python)
    certain = looked.wait is not None and python.gil_share is not None
    return Found(
        certainty=Certainty.CERTAIN if certain else Certainty.LIKELY,
        summary=f"{describe_wait(looked)} The batches are made by your Python code in {python.function} at "
        f"{python.place}{workers}.",
        evidence=tuple(evidence),
        actions=_ACTIONS,
        where=python.place,
        effect=Effect.SLOWS,
    )


def _by_the_stage(looked: InputStarvation, stage: StageWork) -> Found:
    """No sample met the function, but TensorFlow measured the stage that calls it."""
    assert looked.pipeline is not None
    at = f" at {stage.where}" if stage.where else ""
    claim = f"{stage.words}{at} takes most of the pipeline's work"
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"{describe_wait(looked)} Most of the pipeline's work is {stage.words}{at}.",
        evidence=(
            wait_evidence(looked),
            Evidence(claim, stage.seconds, None, looked.pipeline.events[-1:]),
            Evidence(f"the program uses {looked.cores or 0.0:.1f} cores", looked.cores, WORKS_CORES, looked.hosts[-5:]),
        ),
        actions=_ACTIONS,
        where=stage.where,
        effect=Effect.SLOWS,
    )


def _workers(journal: Journal, looked: InputStarvation, python: PythonInput) -> str:
    """That more workers do not help, where there are some."""
    described = next((event for event in reversed(journal.of(InputDescribed)) if event.role == "train"), None)
    asked = described.arguments.get("workers") if described is not None else None
    hardest = looked.hardest
    threads = max(int(asked or 0), hardest[0].at_a_time if hardest is not None else 0, python.threads)
    return f"; {threads} of its threads share one interpreter, which runs one at a time" if threads > 1 else ""
