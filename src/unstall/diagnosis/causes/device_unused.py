"""There is a graphics card in the machine, and the training runs on the processor.

What it is
----------
A build of the framework without CUDA, a variable that hides the card (CUDA_VISIBLE_DEVICES, JAX_PLATFORMS), or code
that asks for the CPU. Nothing fails: it is only many times slower.

How we know
-----------
NVML sees a card. The training's steps go on, the framework says that the weights lie on the CPU, and none of the
program's processes holds memory of any card.

When this is wrong
------------------
If the CPU is meant: a tiny model, or a card that is kept for something else. Where the machine has no card, or the command itself
asks for the CPU (JAX_PLATFORMS=cpu set before the program started), nothing is said.

What to do
----------
Take away what hides the card, or install the build with CUDA: pip install "tensorflow[and-cuda]" or "jax[cuda13]".
"""

from __future__ import annotations

from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import DeviceSampled, DevicesListed, FitBegan, SampleFailed, StepsEnded
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_place

MIN_TRAINING_S = 10.0  # a training that is over sooner needs no card

EXPLAINS: tuple[str, ...] = ()


def examine(journal: Journal) -> Verdict:
    samples = journal.of(DeviceSampled)
    if not samples:
        failed = next((each for each in journal.of(SampleFailed) if each.signal == "device"), None)
        return Unknown(failed.missing, failed.fix) if failed else Clear("there is no card in the machine")
    steps = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    if sum(group.seconds for group in steps) < MIN_TRAINING_S:
        return Clear("too little training to matter")
    listed = journal.last(DevicesListed)
    if listed is None or not listed.weights_on:
        return Unknown("on which device the weights lie")
    if "cpu" not in listed.weights_on or any(process.get("ours") for sample in samples for process in sample.processes):
        return Clear("the program uses the card")
    if any(name not in listed.set_at and _asks_for_the_cpu(name, value) for name, value in listed.variables.items()):
        return Clear("the command itself asks for the CPU")
    return _found(journal, listed, samples[-1], steps)


def _found(journal: Journal, listed: DevicesListed, card: DeviceSampled, steps: list[StepsEnded]) -> Found:
    hidden = next((name for name, value in listed.variables.items() if _hides(name, value)), None)
    fit = journal.last(FitBegan)
    where = fit.where if fit else None
    if hidden is not None:
        why = f"{hidden} is set to '{listed.variables[hidden]}', which hides the card"
        do = f"unset {hidden}"
        where = listed.set_at.get(hidden) or where
    elif listed.built_with_gpu is False:
        why = f"this build of {listed.framework} has no CUDA"
        do = 'install the build with CUDA: pip install "tensorflow[and-cuda]" or "jax[cuda13]"'
    elif any("gpu" in device or "cuda" in device for device in listed.devices):
        why = f"{listed.framework} sees the card, and the weights were put on the CPU"
        do = "take away keras.device('cpu') or tf.device('/CPU:0') around the model"
    else:
        why = f"{listed.framework} sees no card"
        do = "check the driver with nvidia-smi, and that the framework's CUDA libraries are installed"
    file, _, line = (where or "").rpartition(":")
    return Found(
        certainty=Certainty.CERTAIN if (hidden in listed.set_at) or listed.built_with_gpu is False else Certainty.LIKELY,
        summary=f"The machine has a card ({card.name}) and the training runs on the processor: {why}.",
        evidence=(
            Evidence(f"{listed.framework} says that the weights lie on: {listed.weights_on}", listed.weights_on, None, (listed,)),
            Evidence(f"no process of the program was seen to hold memory of the card ({card.name})", 0, None, (card,)),
        ),
        actions=(do,),
        where=format_place(file, int(line), find_program_folder(journal)) if file else None,
        effect=Effect.SLOWS,
    )


def _hides(name: str, value: str) -> bool:
    if name.endswith("VISIBLE_DEVICES"):
        return value.strip() in {"", "-1", "none", "void", "NoDevFiles"}
    return _asks_for_the_cpu(name, value)


def _asks_for_the_cpu(name: str, value: str) -> bool:
    """By name. An empty list of devices may be somebody else's doing: a scheduler's, or an image's."""
    return not name.endswith("VISIBLE_DEVICES") and value.strip().lower() == "cpu"
