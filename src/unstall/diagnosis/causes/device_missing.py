"""The program asks for a device that is not there, or that the installed framework cannot use.

What it is
----------
A device is written into the program or its settings: `cuda`, `cuda:3`, `gpu`. This machine has no such device, has fewer of them,
has no driver for it, or the framework was installed in a build that does not know it. A checkpoint can ask for a device, too: its
tensors are loaded on to the one that they were saved from.

How we know
-----------
PyTorch or JAX refuses the device. Unstall reads from the installed PyTorch for which CUDA it was built, and from the failing line
which device is asked for and where that is written.

When this is wrong
------------------
If the device is there, and the process may not see it: `CUDA_VISIBLE_DEVICES` hides devices, and a container must be started with
them.

What to do
----------
Choose the device by what is there: `"cuda" if torch.cuda.is_available() else "cpu"`. Load checkpoints with `map_location`. If a
GPU is there, install the build of the framework that is made for it.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import as_maker, create_found, find_failing_values
from unstall.diagnosis.errors.failures import Failure, Maker, Value, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.errors.line_changes import add_argument
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal

_NOT_BUILT = re.compile(
    r"Torch not compiled with CUDA enabled|not linked with support for (?P<other>mps|xpu|hpu) devices", re.IGNORECASE
)
_LOADED = re.compile(r"Attempting to deserialize object on (?:a )?(?P<device>CUDA device(?: \d+)?|[Mm][Pp][Ss])")
_NO_DEVICE = re.compile(r"No CUDA GPUs are available|Found no NVIDIA driver on your system|no CUDA-capable device is detected")
_OLD_DRIVER = re.compile(r"NVIDIA driver on your system is too old|CUDA driver version is insufficient")
_NUMBER = re.compile(r"invalid device ordinal|device >= 0 && device < num_gpus|Invalid device id")
_OF_JAX = re.compile(r"Unknown backend:? '?(?P<name>\w+)'?|Backend '(?P<name_2>\w+)' (?:is not in the list|failed to initialize)")
_TEXT = re.compile(r"\A'(?P<device>(?:cuda|gpu|mps|xpu)(?::\d+)?)'\Z")
_CHOOSE = 'choose the device by what is there: "cuda" if torch.cuda.is_available() else "cpu"'
_INSTALL = "or, if the machine has a GPU of NVIDIA, install the build of PyTorch for its CUDA"


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message = failure.text.message
    is_of_torch = any("/torch/" in frame["file"] for frame in failure.error.frames)
    is_of_jax = any("/jax/" in frame["file"] or "/jaxlib/" in frame["file"] for frame in failure.error.frames)
    jax = _OF_JAX.search(message) if is_of_jax else None
    if jax is not None:
        return create_found(
            failure,
            f"JAX has no backend {jax['name'] or jax['name_2']!r} here: there is no such device, or no plugin for it.",
            (
                "leave the platform out, so that JAX takes what is there",
                "or install the plugin of the device, if it is there: python -m pip install 'jax[cuda13]' for a GPU of NVIDIA",
            ),
        )
    if not is_of_torch:
        return Clear("the error is about something else")
    loaded = _LOADED.search(message)
    if loaded is not None:
        return _of_checkpoint(failure, loaded["device"])
    build = failure.maker("build")
    installed = f"the installed PyTorch {build.facts['version']}" if build is not None else "the installed PyTorch"
    if _NOT_BUILT.search(message):
        other = _NOT_BUILT.search(message)
        kind = (other["other"] or "").lower() if other is not None else ""
        return _of_device(
            failure, f"{installed} was built without {kind.upper() or 'CUDA'}", (_CHOOSE, *(() if kind else (_INSTALL,)))
        )
    if _OLD_DRIVER.search(message):
        cuda = f", which was built for CUDA {build.facts['cuda']}" if build is not None and build.facts["cuda"] else ""
        said = f"the driver of this machine is too old for {installed}{cuda}"
        return _of_device(failure, said, ("install a newer driver, or the build of PyTorch for an older CUDA", _CHOOSE))
    if _NO_DEVICE.search(message):
        said = "PyTorch finds no GPU of NVIDIA, or no driver for it, in this process"
        return _of_device(failure, said, (_CHOOSE, "or, if the machine has one, look at nvidia-smi and CUDA_VISIBLE_DEVICES"))
    if _NUMBER.search(message):
        said = "this process has fewer devices than that number needs"
        return _of_device(
            failure, said, ("number the devices from 0 to torch.cuda.device_count() - 1", "look at CUDA_VISIBLE_DEVICES")
        )
    return Clear("the error is about something else")


def _of_device(failure: Failure, why: str, actions: tuple[str, ...]) -> Verdict:
    asked, place = _find_device(failure)
    who = (
        f"The program asks for the device {asked.words} (`{asked.name}`)"
        if asked is not None
        else "The program asks for a device"
    )
    written = f", written at {place.where}" if place is not None else ""
    claims = (f"{place.where}: {place.code}",) if place is not None else ()
    return create_found(failure, f"{who}{written}, and {why}.", actions, claims, place.where if place is not None else None)


def _find_device(failure: Failure) -> tuple[Value | None, Maker | None]:
    """The value in the failing line that names a device, and where it is written."""
    raised = failure.raised
    for value in find_failing_values(raised) if raised is not None else []:
        if _TEXT.match(value.words) or value.facts.get("type") == "torch.device":
            written = next((maker for maker in failure.makers if maker.what == "device" and maker.where), None)
            return value, written or (raised.find_maker(value) if raised is not None else None)
    return None, None


def _of_checkpoint(failure: Failure, device: str) -> Verdict:
    raised = failure.raised
    change = add_argument(as_maker(raised), "load", 'map_location="cpu"') if raised is not None else None
    return create_found(
        failure,
        f"The checkpoint holds tensors that were saved from a {device.partition(' ')[0]} device, and this process has none.",
        (
            'load them into the memory of the host: torch.load(path, map_location="cpu")',
            "and move the model to its device after that",
        ),
        changes=(change,),
    )
