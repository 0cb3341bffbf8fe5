"""How long each step waits for its input, and what the input is, for Keras 3 on any backend and for tf_keras.

On JAX and PyTorch the batches come out of a Python iterator, which is timed. On TensorFlow they are fetched inside the
compiled step, where Python sees nothing: there a stamp at the end of the data set tells when a batch was handed over.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any, Optional

from unstall.journal.events import InputDescribed
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.tracebacks import hide_own_frames
from unstall.probe.core.user_code import find_code_place, find_user_place
from unstall.probe.input.batch_shapes import report_spec
from unstall.probe.input.data_files import meet
from unstall.probe.input.endless_generator import is_endless
from unstall.probe.input.tf_pipeline import count_batches_per_pass, find_batch_size
from unstall.probe.input.tf_timestamp import InputStamp

KINDS = {
    "TFDatasetAdapter": "tf.data",
    "ArrayDataAdapter": "arrays",
    "PyDatasetAdapter": "PyDataset",
    "GeneratorDataAdapter": "generator",
    "TorchDataLoaderAdapter": "torch DataLoader",
    "GrainDatasetAdapter": "grain",
    "DatasetAdapter": "tf.data",
    "TensorLikeDataAdapter": "arrays",
    "KerasSequenceAdapter": "PyDataset",
}
TRAINERS = ("/trainer.py", "/engine/training.py")  # of Keras, for each backend, and of tf_keras
INFINITE = -1  # as TensorFlow counts the batches of a data set that repeats for ever


def install(module: ModuleType, probe: Probe) -> None:
    """The description of every input; the timing is the backends' own matter."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(iterator: Any, *args: Any, **kwargs: Any) -> None:
            _end_own_loop(probe)
            original(iterator, *args, **kwargs)
            if probe.active:
                probe.extras["weighted"] = _is_weighted(kwargs)
                probe.shield.call("input description", _describe, probe, iterator)

        return __init__

    wrap(module.EpochIterator, "__init__", make)


def install_tensorflow(module: ModuleType, probe: Probe) -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(iterator: Any, *args: Any, **kwargs: Any) -> None:
            original(iterator, *args, **kwargs)
            if probe.active and probe.fit_depth == 0:
                _stamp_if_affordable(probe, iterator, "_distributed_dataset")

        return __init__

    wrap(module.TFEpochIterator, "__init__", make)


def install_jax(module: ModuleType, probe: Probe) -> None:
    wrap(module.JAXEpochIterator, "_get_iterator", _timed(probe))


def install_torch(module: ModuleType, probe: Probe) -> None:
    wrap(module.TorchEpochIterator, "_get_iterator", _timed(probe))


def install_keras_2(module: ModuleType, probe: Probe) -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(handler: Any, *args: Any, **kwargs: Any) -> None:
            _end_own_loop(probe)
            original(handler, *args, **kwargs)
            if probe.active and probe.fit_depth == 0:
                _stamp_if_affordable(probe, handler, "_dataset")
            if probe.active:
                probe.extras["weighted"] = _is_weighted(kwargs)
                probe.shield.call("input description", _describe, probe, handler)

        return __init__

    wrap(getattr(module, "DataHandler", None), "__init__", make)


def _is_weighted(given: dict[str, Any]) -> bool:
    """Whether some examples count for more than others, by what fit was told. (Weights may come with the batches, too.)"""
    return given.get("class_weight") is not None or given.get("sample_weight") is not None


def _stamp_if_affordable(probe: Probe, owner: Any, attribute: str) -> None:
    """A stamp costs some 20 ms once in each fit: nothing in an hour of training, much in a thousand fits of three steps each."""
    probe.input_stamp = None
    if _pass() in ("fit", None):  # of another one nobody would read it, and the next fit would have to do without
        probe.shield.within_budget("input stamp", _stamp, probe, owner, attribute)


def _pass() -> Optional[str]:
    """What the input that is being made is for: `fit`, `evaluate` or `predict`; None if that is not seen."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(TRAINERS) and frame.f_code.co_name in ("fit", "evaluate", "predict"):
            return frame.f_code.co_name
        frame = frame.f_back
    return None


def _end_own_loop(probe: Probe) -> None:
    """One's own loop is over when fit is called: else what is made for the fit would count as the loop's validation."""
    if probe.active and probe.close_loop is not None and _pass() == "fit":
        probe.shield.call("own loop", probe.close_loop)


def _stamp(probe: Probe, owner: Any, attribute: str) -> None:
    adapter = getattr(owner, "data_adapter", None) or getattr(owner, "_adapter", None)
    is_array = KINDS.get(type(adapter).__name__) == "arrays"  # those are looked at themselves
    stamp = InputStamp.put_on(owner, attribute, lambda spec: None if is_array else get_tap(probe, spec))
    # With several steps in one call the stamp is the last one's, and says nothing of the wait of each.
    several = getattr(owner, "steps_per_execution", 1) != 1 or getattr(owner, "_step_increment", 0) != 0
    probe.input_stamp = None if several else stamp


def _timed(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def _get_iterator(iterator: Any) -> Any:
            source = original(iterator)
            return TimedIterable(source, probe) if probe.active else source

        return _get_iterator

    return make


class TimedIterable:
    """Passes everything on, and notes how long each next() took."""

    def __init__(self, source: Any, probe: Probe) -> None:
        self._source = source
        self._probe = probe

    @hide_own_frames
    def __iter__(self) -> Iterator[Any]:
        return TimedIterator(iter(self._source), self._probe)

    @hide_own_frames
    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class TimedIterator:
    def __init__(self, source: Iterator[Any], probe: Probe) -> None:
        self._next = source.__next__
        self._probe = probe
        self.on_batch = probe.on_batch

    def __iter__(self) -> TimedIterator:
        return self

    @hide_own_frames
    def __next__(self) -> Any:
        probe = self._probe
        began = probe.input_began()
        try:
            batch = self._next()
        finally:
            probe.input_ended(began)
        if self.on_batch is not None:
            probe.shield.call("batches", self.on_batch, batch)
        return batch


def _describe(probe: Probe, owner: Any) -> None:
    adapter = getattr(owner, "data_adapter", None) or getattr(owner, "_adapter", None)
    name = type(adapter).__name__
    batches = getattr(adapter, "num_batches", None)
    if batches is None:
        batches = getattr(owner, "_inferred_steps", None)
    dataset = getattr(adapter, "_dataset", None)
    per_pass = None
    if batches is None and dataset is not None and hasattr(dataset, "cardinality") and int(dataset.cardinality()) == INFINITE:
        batches, per_pass = INFINITE, count_batches_per_pass(dataset)
    role = "validate" if probe.fit_depth else "train"
    if role == "train":
        meet(probe, _kept_by(adapter), KINDS.get(name, name))
        if dataset is not None and hasattr(dataset, "element_spec"):
            probe.shield.within_budget("batch shapes", report_spec, probe, dataset.element_spec, find_batch_size(dataset))
    if role == "train" and "train_input" in probe.extras:
        probe.extras["train_input"] = owner  # kept only where experiments were asked for: it would keep the data alive
    probe.emit(
        InputDescribed(
            at=time.time(),
            kind=KINDS.get(name, name),
            where=_source_place(adapter) or find_user_place(3),
            batches=int(batches) if isinstance(batches, int) else None,
            arguments={**_facts(owner, adapter), **({} if per_pass is None else {"batches_per_pass": per_pass})},
            role=role,
        )
    )


def _kept_by(adapter: Any) -> dict[str, Any]:
    """What a PyDataset, a torch data set or a generator has at hand: names of files may be among it."""
    source = getattr(adapter, "py_dataset", None) or getattr(getattr(adapter, "_dataloader", None), "dataset", None)
    if source is not None:
        return dict(getattr(source, "__dict__", {}))
    frame = _generator_frame(adapter)
    return {} if frame is None else dict(frame.f_locals)


def _source_place(adapter: Any) -> Optional[str]:
    """Where the user's generator or PyDataset is defined."""
    source = getattr(adapter, "py_dataset", None)
    if source is not None:
        return find_code_place(getattr(type(source), "__getitem__", None))
    code = _generator_code(adapter)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None


def _generator_code(adapter: Any) -> Optional[CodeType]:
    code = getattr(_generator(adapter), "gi_code", None)
    return code if isinstance(code, CodeType) else None


def _generator_frame(adapter: Any) -> Optional[FrameType]:
    """None once it has ended."""
    frame = getattr(_generator(adapter), "gi_frame", None)
    return frame if isinstance(frame, FrameType) else None


def _generator(adapter: Any) -> Any:
    """The user's generator, which Keras keeps inside a function of its own."""
    kept = getattr(adapter, "generator", None)
    inside = [cell.cell_contents for cell in getattr(kept, "__closure__", None) or ()]
    sources = [getattr(source, "_generator", source) for source in (kept, *inside)]  # ours may lie around it
    return next((source for source in sources if isinstance(getattr(source, "gi_code", None), CodeType)), None)


def _threads(dataset: Any) -> dict[str, Any]:
    """How many threads TensorFlow and this data set may use, where the program has set that."""
    tf = sys.modules.get("tensorflow")
    if tf is None or not hasattr(dataset, "options"):
        return {}
    limits = {
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads() or None,
        "intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads() or None,
    }
    options = dataset.options()
    own = getattr(options, "threading", None) or getattr(options, "experimental_threading", None)  # up to TensorFlow 2.6
    names = {"private_threads": "private_threadpool_size", "threads_of_an_operation": "max_intra_op_parallelism"}
    return {**limits, **{name: getattr(own, attribute, None) for name, attribute in names.items()}}


def _facts(owner: Any, adapter: Any) -> dict[str, Any]:
    source = getattr(adapter, "py_dataset", None)
    loader = getattr(adapter, "_dataloader", None)
    facts = {
        "steps_per_epoch": getattr(owner, "steps_per_epoch", getattr(owner, "_steps_per_epoch", None)),
        "batch_size": getattr(adapter, "batch_size", None),
        "workers": getattr(source, "workers", None),
        "use_multiprocessing": getattr(source, "use_multiprocessing", None),
        "max_queue_size": getattr(source, "max_queue_size", None),
        **{name: getattr(loader, name, None) for name in ("num_workers", "prefetch_factor", "pin_memory")},
        **_threads(getattr(adapter, "_dataset", None)),
    }
    code = _generator_code(adapter)
    if code is not None and is_endless(code):
        facts["never_ends"] = True
    return {key: value for key, value in facts.items() if isinstance(value, (int, bool, str))}


# Keeps the newest batch of a tf.data set that TensorFlow fetches inside the compiled step, so that Python can look at it.
#
# It stands in the stamp's last `map`: each batch leaves a reference to itself in variables in host memory, which costs no
# copy, and passes on unchanged. A copy is made only of a batch that is looked at.


MAX_PARTS = 6


class Tap:
    def __init__(self, spec: Any) -> None:
        tf = sys.modules["tensorflow"]
        self._tf = tf
        flat = tf.nest.flatten(spec)
        kept = [index for index, part in enumerate(flat) if _holds_numbers(tf, part)][:MAX_PARTS]
        with tf.device("CPU:0"):
            self._kept = {
                index: tf.Variable(
                    tf.zeros([0] * (flat[index].shape.rank or 0), flat[index].dtype),
                    shape=tf.TensorShape([None] * (flat[index].shape.rank or 0)),
                    trainable=False,
                )
                for index in kept
            }
        self._spec = spec
        self._length = len(flat)

    def pass_by(self, element: Any) -> None:
        """In the graph of the map."""
        flat = self._tf.nest.flatten(element)
        for index, variable in self._kept.items():
            variable.assign(flat[index])

    def take(self) -> Optional[Any]:
        """The newest batch, as arrays in its own structure; None if there is none yet."""
        flat: list[Any] = [None] * self._length
        for index, variable in self._kept.items():
            flat[index] = variable.numpy()
            if not flat[index].size:
                return None
        return self._tf.nest.pack_sequence_as(self._spec, flat)


def get_tap(probe: Probe, spec: Any) -> Optional[Tap]:
    """A tap for the data set of the fit that is about to begin; none where looking has come to its end."""
    tap = probe.shield.call("batch tap", Tap, spec) if probe.extras.get("tap wanted", True) else None
    probe.extras["tap"] = tap
    return tap


def _holds_numbers(tf: Any, part: Any) -> bool:
    if not isinstance(part, tf.TensorSpec) or part.shape.rank is None or part.shape.rank == 0:
        return False
    return bool(part.dtype.is_floating or part.dtype.is_integer or part.dtype.is_bool) and part.dtype != tf.bfloat16
