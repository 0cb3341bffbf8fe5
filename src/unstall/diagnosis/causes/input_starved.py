"""The training waits for its input: batches come slower than the model could take them.

What it is
----------
Every step begins with waiting for its batch. The model, and the device that it runs on, idle meanwhile: a faster card would
change nothing.

How we know
-----------
The wait of the steps is measured: inside the graph on TensorFlow, around the iterator elsewhere. It takes at least the share
below of the steps' time, in most of the steps, and lately too. Which stage is to blame is told by TensorFlow's own
measurement of the pipeline, or by where the stack samples find the program's Python code.

When this is wrong
------------------
On a device that computes while the next batch is made (JAX, PyTorch), part of the measured wait may lie in the shade of the
computation. A device that is seen busy is never called starved. Steps of a few milliseconds, where the wait is the price of a
call, are not either.

What to do
----------
Make the costly stage parallel (`num_parallel_calls=tf.data.AUTOTUNE`), fetch ahead (`prefetch`), and do what is the same in
every epoch only once: resize pictures beforehand, `cache()` what was decoded. On Python data sets: more workers.
"""

from __future__ import annotations

from unstall.diagnosis.input_starvation import STARVED_SHARE, InputStarvation, find_starvation
from unstall.diagnosis.pipelines import StageWork
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import Event, FitBegan, InputDescribed, ProcessEnded, SampleFailed
from unstall.journal.reader import Journal

CERTAIN_SHARE = 0.7
SEEN_AFTER_S = 25.0  # of steps: if no stage can be named by then, the verdict comes without
HARDEST_SHARE = 0.5  # of the pipeline's work, for a stage to be named alone


def examine(journal: Journal) -> Verdict:
    looked = find_starvation(journal)
    if isinstance(looked, str):
        return Clear(looked) if journal.last(FitBegan) is not None else Unknown("a training: no steps were seen")
    if _is_not_seen_yet(journal, looked):
        return Clear("steps wait for their input; the next samples will tell for what")
    stage, place, evidence = _stage(journal, looked)
    return Found(
        certainty=Certainty.CERTAIN if looked.share >= CERTAIN_SHARE and looked.wait is not None else Certainty.LIKELY,
        summary=f"{describe_wait(looked)} {stage}",
        evidence=(wait_evidence(looked), *evidence),
        actions=_actions(looked),
        where=place,
        effect=Effect.SLOWS,
    )


def _is_not_seen_yet(journal: Journal, looked: InputStarvation) -> bool:
    """Which stage it is takes some samples to see: a verdict that names it is worth a few seconds."""
    is_seen = looked.python is not None or looked.hardest is not None or journal.last(ProcessEnded) is not None
    return not is_seen and journal.last(SampleFailed) is None and looked.wait is not None and looked.wait.seconds < SEEN_AFTER_S


def describe_wait(looked: InputStarvation) -> str:
    """The wait in one sentence."""
    if looked.wait is None:
        return f"The training is found waiting for its input {looked.share:.0%} of the time."
    wait = looked.wait
    return f"Each step waits {format_ms(wait.each_s)} of its {format_ms(wait.step_s)} for its batch ({wait.share:.0%})."


def wait_evidence(looked: InputStarvation) -> Evidence:
    if looked.wait is None:
        assert looked.python is not None
        count, of = len(looked.python.samples), looked.python.looked
        return Evidence(f"{count} of {of} samples find the loop in its input", looked.share, STARVED_SHARE, looked.python.samples)
    wait = looked.wait
    waited, step = format_ms(wait.each_s), format_ms(wait.step_s)
    claim = f"steps wait {waited} of {step} for input, over {wait.steps:,} steps in {wait.seconds:.0f} s"
    return Evidence(claim, wait.share, STARVED_SHARE, wait.groups[-5:])


def format_ms(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _stage(journal: Journal, looked: InputStarvation) -> tuple[str, str | None, tuple[Evidence, ...]]:
    """Which stage it is: a sentence, the user's line, the evidence."""
    hardest = looked.hardest
    if looked.python is not None and (hardest is None or hardest[0].is_python):
        python = looked.python
        what = (
            f"It waits for {python.awaits} in" if python.awaits else "The time goes into" if python.computes else "It stands in"
        )
        count = len(python.samples)
        claim = f"{count} of {python.looked} samples find the input in {python.function} ({python.place})"
        evidence = [Evidence(claim, count, None, python.samples)]
        if python.cores is not None:
            claim = f"its thread runs, or is ready to, {python.cores:.0%} of the time"
            evidence.append(Evidence(claim, python.cores, None, python.samples[-1:]))
        return f"{what} your Python function {python.function} at {python.place}.", python.place, tuple(evidence)
    if hardest is not None:
        return _of_pipeline(looked, *hardest)
    described = next((event for event in reversed(journal.of(InputDescribed)) if event.role == "train"), None)
    place = described.where if described is not None else None
    return "Which part of the input is slow was not seen.", place, ()


def _of_pipeline(looked: InputStarvation, stage: StageWork, share: float) -> tuple[str, str | None, tuple[Evidence, ...]]:
    assert looked.pipeline is not None
    at = f" at {stage.where}" if stage.where else ""
    side = f", {stage.at_a_time} at a time" if stage.at_a_time > 1 else ""
    each = f", {format_ms(stage.seconds / stage.elements)} for each of {stage.elements:,}" if stage.elements else ""
    last: tuple[Event, ...] = looked.pipeline.events[-1:]
    evidence = [Evidence(f"{stage.words}{at} takes {share:.0%} of the pipeline's work{each}{side}", share, HARDEST_SHARE, last)]
    if looked.cores is not None:
        evidence.append(Evidence(f"the program uses {looked.cores:.1f} cores", looked.cores, None, looked.hosts[-5:]))
    words = "Most of the pipeline's work is" if share >= HARDEST_SHARE else "The largest part of the pipeline's work is"
    return f"{words} {stage.words}{at}.", stage.where, tuple(evidence)


def _actions(looked: InputStarvation) -> tuple[str, ...]:
    hardest = looked.hardest
    if hardest is None or hardest[0].is_python:
        return (
            "make several batches at once, ahead: workers=4 for a PyDataset, num_workers for a DataLoader, prefetch in tf.data",
            "do what is the same in every epoch once, before the training, and keep it",
            "confirm it: unstall confirm replays one batch and times the step without its input",
        )
    return (
        "make the stage parallel and fetch ahead: .map(f, num_parallel_calls=tf.data.AUTOTUNE) … .prefetch(tf.data.AUTOTUNE)",
        "do what is the same in every epoch once: store smaller pictures, or .cache() what was decoded",
        "confirm it: unstall confirm replays one batch and times the step without its input",
    )
