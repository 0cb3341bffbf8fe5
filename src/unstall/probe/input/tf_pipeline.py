"""The stages of tf.data pipelines, each with the user's line that made it: map, shuffle, batch, from_generator, …"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import InputDescribed, PipelineBuilt
from unstall.probe.core.patches import MARK, wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.tracebacks import hide_own_frames
from unstall.probe.core.user_code import find_calling_code, find_code_place, find_user_place, is_own_file
from unstall.probe.input.batch_shapes import list_components
from unstall.probe.input.data_files import meet

METHODS = (
    "map", "flat_map", "interleave", "filter", "shuffle", "batch", "padded_batch", "ragged_batch", "prefetch", "cache", "repeat",
    "take", "skip", "shard", "unbatch", "apply", "snapshot", "ignore_errors",
)  # fmt: skip
KEEPING = ("shuffle", "cache")  # stages that keep elements in memory: how large one is, and how many there are
SAME_ELEMENTS = ("RepeatDataset", "ShuffleDataset", "PrefetchDataset", "CacheDataset", "TakeDataset", "SkipDataset")
MAX_STAGES_BACK = 10
STATIC = ("from_generator", "list_files", "from_tensor_slices", "from_tensors", "range", "zip")
GIVEN_FILES = ("from_tensor_slices", "list_files", "TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset")
READERS = ("TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset")
MAX_STAGES = 400  # a program that builds pipelines in a loop must not fill the journal


def install(module: ModuleType, probe: Probe) -> None:
    dataset = module.DatasetV2
    recorder = _Recorder(probe)
    for name in METHODS:
        wrap(dataset, name, recorder.method(name))
    for name in STATIC:
        _wrap_static(dataset, name, recorder)


def install_readers(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.data.ops.readers: sources that are made by naming a class."""
    recorder = _Recorder(probe)
    for name in READERS:
        wrap(getattr(module, f"{name}V2"), "__init__", recorder.reader(name))


def _wrap_static(owner: type, name: str, recorder: _Recorder) -> None:
    original = owner.__dict__.get(name)
    if not isinstance(original, staticmethod) or hasattr(original.__func__, MARK):
        return
    inner = original.__func__

    @functools.wraps(inner)
    @hide_own_frames
    def function(*args: Any, **kwargs: Any) -> Any:
        noted = recorder.note(name, args, kwargs)
        dataset = inner(*args, **kwargs)
        recorder.tag(dataset, noted)
        return dataset

    setattr(function, MARK, inner)
    setattr(owner, name, staticmethod(function))


class _Recorder:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._stages = 0

    def method(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def stage(dataset: Any, *args: Any, **kwargs: Any) -> Any:
                noted = self.note(name, args, kwargs, dataset)
                result = original(dataset, *args, **kwargs)
                self.tag(result, noted)
                return result

            return stage

        return make

    def reader(self, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        def make(original: Callable[..., None]) -> Callable[..., None]:
            def __init__(dataset: Any, *args: Any, **kwargs: Any) -> None:
                noted = self.note(name, args, kwargs)
                original(dataset, *args, **kwargs)
                self.tag(dataset, noted)

            return __init__

        return make

    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], dataset: Any = None) -> Optional[PipelineBuilt]:
        if not self._probe.active or self._stages >= MAX_STAGES:
            return None
        noted: Optional[PipelineBuilt] = self._probe.shield.call("pipeline", self._record, name, args, kwargs, dataset)
        return noted

    def tag(self, dataset: Any, noted: Optional[PipelineBuilt]) -> None:
        """The data set itself remembers its line, so that a pipeline that runs can be told stage by stage."""
        if noted is not None:
            self._probe.shield.call("pipeline", tag_dataset, dataset, noted)

    def _record(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], dataset: Any) -> Optional[PipelineBuilt]:
        where = find_user_place(4)
        function = next((value for value in (*args, *kwargs.values()) if callable(value)), None)
        by_us = is_own_file(find_calling_code(4).co_filename) or str(getattr(function, "__module__", "")).startswith("unstall.")
        if where is None or by_us:
            return None  # a stage that a library, or we, built for ourselves
        self._stages += 1
        if name in GIVEN_FILES:
            meet(self._probe, [*args, *kwargs.values()][:2], name)
        given = {f"argument_{index}": _shown(value) for index, value in enumerate(args)}
        given.update({key: _shown(value) for key, value in kwargs.items()})
        arguments = {key: shown for key, shown in given.items() if shown is not None}
        if function is not None:
            arguments["function"] = getattr(function, "__qualname__", type(function).__name__)
            arguments["function_where"] = find_code_place(function)
        if name in KEEPING and dataset is not None:
            arguments.update(self._probe.shield.call("pipeline sizes", _sizes, dataset) or {})
        built = PipelineBuilt(at=time.time(), stage=name, where=where, arguments=arguments)
        self._probe.emit(built)
        return built


def _sizes(dataset: Any) -> dict[str, Any]:
    """element_bytes (None: it varies) and elements (-1: without end, -2: not known) of a data set, as far as it tells itself."""
    tensorflow = sys.modules["tensorflow"]
    total: Optional[int] = 0
    for spec in tensorflow.nest.flatten(dataset.element_spec):
        size = _spec_bytes(spec, dataset)
        total = None if total is None or size is None else total + size
    elements = int(dataset.cardinality()) if tensorflow.executing_eagerly() else -2
    return {"element_bytes": total, "elements": elements}


def _spec_bytes(spec: Any, dataset: Any) -> Optional[int]:
    shape, width = getattr(spec, "shape", None), getattr(getattr(spec, "dtype", None), "size", 0)
    if shape is None or shape.rank is None or not width or spec.dtype.name in ("string", "variant", "resource"):
        return None
    sides = shape.as_list()
    if sides and sides[0] is None:
        sides[0] = find_batch_size(dataset)  # the last batch may be smaller, the others are not
    size = width
    for side in sides:
        if side is None:
            return None
        size *= side
    return int(size)


def find_batch_size(dataset: Any) -> Optional[int]:
    """Of the batch stage that a data set comes from, through stages that leave elements as they are."""
    for _ in range(MAX_STAGES_BACK):
        if hasattr(dataset, "_batch_size"):
            return int(dataset._batch_size)
        if type(dataset).__name__.strip("_") not in SAME_ELEMENTS:
            return None
        dataset = dataset._input_dataset
    return None


def _shown(value: Any) -> Optional[Any]:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value[:200]
    if hasattr(value, "numpy") and getattr(value, "shape", None) == ():
        return str(value.numpy())[:200]
    return None


# The stages that a tf.data set is made of, from its source on, with the user's line of each and what its function does.


TAG = "_unstall_stage"
FOLLOWED = "pipelines followed"  # of the newest iterators: role and stages
MAX_CHAINED_STAGES = 60
MAX_OPERATIONS = 4000

_READS = ("ReadFile", "WholeFileRead", "ReaderRead")
_PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
_DECODES = ("Decode", "ParseExample", "ParseSingleExample", "ParseSingleSequence", "ParseSequence", "ParseTensor", "Uncompress")
_AUGMENTS = (
    "Resize", "Adjust", "RGBToHSV", "HSVToRGB", "ImageProjective", "CropAndResize", "ScaleAndTranslate", "MirrorPad", "ReverseV2",
    "Random", "StatelessRandom", "StatelessTruncated", "Truncated", "Conv2D", "DepthwiseConv", "FFT", "RFFT", "Einsum", "MatMul",
    "Sort",
)  # fmt: skip


def tag_dataset(dataset: Any, built: PipelineBuilt) -> None:
    """Notes on a data set which line of the user's made it. The first to say so is the innermost call: the stage itself."""
    if hasattr(dataset, "_inputs"):
        dataset.__dict__.setdefault(TAG, built)


def find_chain(dataset: Any) -> list[dict[str, Any]]:
    """From the source to the end. A stage that a library added has no line."""
    stages: list[dict[str, Any]] = []
    waiting = [dataset]
    while waiting and len(stages) < MAX_CHAINED_STAGES:
        current = waiting.pop()
        name = type(current).__name__.strip("_").replace("DatasetV2", "").replace("DatasetV1", "").replace("Dataset", "")
        built: Optional[PipelineBuilt] = current.__dict__.get(TAG)
        facts = {"stage": built.stage, "where": built.where, "arguments": built.arguments} if built is not None else {}
        stages.append({"name": name, **facts, "does": describe_function(current)})
        waiting.extend(current._inputs())
    stages.reverse()
    return stages


def find_chain_with_components(dataset: Any) -> list[dict[str, Any]]:
    """The same, with the parts of the elements that each stage gives, as far back as there is one input each."""
    stages = find_chain(dataset)
    for stage in reversed(stages):
        stage["components"] = list_components(dataset.element_spec)
        inputs = dataset._inputs()
        if len(inputs) != 1:
            break
        dataset = inputs[0]
    return stages


def describe_function(dataset: Any) -> list[str]:
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


def count_batches_per_pass(dataset: Any) -> Optional[int]:
    """Of a data set that repeats without end: how many batches one pass through its elements gives. None: not known."""
    batch = 1
    for _ in range(MAX_CHAINED_STAGES):
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


ENDLESS = -1  # as TensorFlow counts the batches of a data set that repeats for ever
_REPORTED = "_unstall_validation_told"


def describe_validation(probe: Probe, iterator: Any) -> None:
    """Once for each data set."""
    dataset = getattr(iterator, "_dataset", None)
    if dataset is None or _REPORTED in dataset.__dict__:
        return
    dataset.__dict__[_REPORTED] = True
    batches = int(dataset.cardinality())
    per_pass = count_batches_per_pass(dataset) if batches == ENDLESS else None
    probe.emit(
        InputDescribed(
            at=time.time(),
            kind="tf.data",
            where=find_user_place(),
            batches=batches if batches >= ENDLESS else None,
            arguments={} if per_pass is None else {"batches_per_pass": per_pass},
            role="validate",
        )
    )
