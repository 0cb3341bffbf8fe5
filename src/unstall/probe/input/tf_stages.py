"""The stages that a tf.data set is made of, from its source on, with the user's line of each and what its function does."""

from __future__ import annotations

from typing import Any, Optional

from unstall.journal.events import PipelineBuilt

TAG = "_unstall_stage"
MAX_STAGES = 60
MAX_OPERATIONS = 4000

_READS = ("ReadFile", "WholeFileRead", "ReaderRead")
_PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
_DECODES = ("Decode", "ParseExample", "ParseSingleExample", "ParseSingleSequence", "ParseSequence", "ParseTensor", "Uncompress")
_AUGMENTS = (
    "Resize", "Adjust", "RGBToHSV", "HSVToRGB", "ImageProjective", "CropAndResize", "ScaleAndTranslate", "MirrorPad", "ReverseV2",
    "Random", "StatelessRandom", "StatelessTruncated", "Truncated", "Conv2D", "DepthwiseConv", "FFT", "RFFT", "Einsum", "MatMul",
    "Sort",
)  # fmt: skip


def tag(dataset: Any, built: PipelineBuilt) -> None:
    """Notes on a data set which line of the user's made it. The first to say so is the innermost call: the stage itself."""
    if hasattr(dataset, "_inputs"):
        dataset.__dict__.setdefault(TAG, built)


def chain(dataset: Any) -> list[dict[str, Any]]:
    """From the source to the end. A stage that a library added has no line."""
    stages: list[dict[str, Any]] = []
    waiting = [dataset]
    while waiting and len(stages) < MAX_STAGES:
        current = waiting.pop()
        name = type(current).__name__.strip("_").replace("DatasetV2", "").replace("DatasetV1", "").replace("Dataset", "")
        built: Optional[PipelineBuilt] = current.__dict__.get(TAG)
        facts = {"stage": built.stage, "where": built.where, "arguments": built.arguments} if built is not None else {}
        stages.append({"name": name, **facts, "does": does(current)})
        waiting.extend(current._inputs())
    stages.reverse()
    return stages


def does(dataset: Any) -> list[str]:
    """What the function of a stage does, by the operations in it: python, reading, decoding, augmenting."""
    wrapper = getattr(dataset, "_map_func", None) or getattr(dataset, "_predicate", None)
    graph = getattr(getattr(wrapper, "function", None), "graph", None)
    if graph is None:
        return []
    found: set[str] = set()
    for number, operation in enumerate(graph.get_operations()):
        if number >= MAX_OPERATIONS:
            break
        kind = operation.type
        if kind in _PYTHON:
            found.add("python")
        elif kind in _READS:
            found.add("reading")
        elif kind.startswith(_DECODES):
            found.add("decoding")
        elif kind.startswith(_AUGMENTS):
            found.add("augmenting")
    return [word for word in ("python", "reading", "decoding", "augmenting") if word in found]


def batches_per_pass(dataset: Any) -> Optional[int]:
    """Of a data set that repeats without end: how many batches one pass through its elements gives. None: not known."""
    batch = 1
    for _ in range(MAX_STAGES):
        inputs = dataset._inputs()
        if len(inputs) != 1:
            return None
        size = getattr(dataset, "_batch_size", None)
        batch *= int(size) if size is not None else 1
        below = int(inputs[0].cardinality())
        if below >= 0:
            return -(-below // batch)
        dataset = inputs[0]
    return None
