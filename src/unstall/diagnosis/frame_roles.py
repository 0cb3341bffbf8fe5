"""What a frame of a framework does, by its role, over all versions: calls the user's input code, runs a function, traces, …

The files of a framework move from version to version, what they do stays. A place is a part of the path, and the functions that
have the role there (none: all of them). tests/diagnosis/stacks has recorded stacks of each version.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache

from unstall.journal.events import Frame
from unstall.journal.stack_frames import CALLBACKS, is_native


class Role(Enum):
    CALLS_INPUT = auto()  # code of the user's that makes batches
    CALLS_CALLBACK = auto()
    CALLS_FROM_GRAPH = auto()  # Python code of the user's that is a part of a graph: py_function, numpy_function
    RUNS_FUNCTION = auto()  # a tf.function or a session's graph, in a thread that waits for its end
    EXECUTES = auto()  # the call into native code that executes it
    FETCHES_BATCH = auto()  # waits for the next batch of a pipeline whose threads run native code
    TRACES = auto()
    COMPILES = auto()


Place = tuple[str, tuple[str, ...]]


def _tensorflow(path: str, *functions: str) -> tuple[Place, ...]:
    return tuple((f"{package}/python/{path}", functions) for package in ("tensorflow", "tensorflow_core"))  # the second up to 2.1


# `for batch in run.steps(generator)`: a loop of one's own, which may rest for a while. The second is its name in older journals.
STEPS_OF_WATCH = ("unstall/probe/watch.py", "unstall/inside/watch.py")
_PLACES: dict[Role, tuple[Place, ...]] = {
    Role.CALLS_INPUT: (
        *_tensorflow("data/ops/from_generator_op.py"),
        *_tensorflow("ops/script_ops.py"),
        ("/trainers/data_adapters/", ()),
        ("/keras/src/trainers/epoch_iterator.py", ()),
        ("keras/src/engine/data_adapter.py", ()),  # Keras 2: tf_keras, and 2.13 to 2.15
        ("keras/src/utils/data_utils.py", ()),
        ("/keras/engine/data_adapter.py", ()),  # up to 2.12, also as a part of TensorFlow
        ("/keras/utils/data_utils.py", ()),
        ("/keras/engine/training_generator.py", ()),  # up to 2.3
        ("/keras/engine/training_generator_v1.py", ()),  # with compat.v1
        ("torch/utils/data/", ()),
        *((file, ()) for file in STEPS_OF_WATCH),
    ),
    Role.CALLS_CALLBACK: tuple((file, ()) for file in CALLBACKS),
    Role.CALLS_FROM_GRAPH: _tensorflow("ops/script_ops.py"),
    Role.RUNS_FUNCTION: (
        *_tensorflow("eager/polymorphic_function/"),
        *_tensorflow("eager/def_function.py"),  # these two up to 2.8
        *_tensorflow("eager/function.py"),
        *_tensorflow("eager/context.py"),
        *_tensorflow("client/session.py"),
    ),
    Role.EXECUTES: (
        *_tensorflow("eager/execute.py", "quick_execute", "execute_with_cancellation"),
        *_tensorflow("eager/context.py", "call_function"),
        *_tensorflow("client/session.py", "_call_tf_sessionrun"),
    ),
    Role.FETCHES_BATCH: (
        *_tensorflow("data/ops/iterator_ops.py", "__next__", "next", "_next_internal", "get_next"),
        *_tensorflow("ops/gen_dataset_ops.py", "iterator_get_next"),
    ),
    Role.TRACES: (
        *_tensorflow("framework/func_graph.py", "func_graph_from_py_func"),
        *_tensorflow("eager/polymorphic_function/tracing_compil", "create_concrete_function", "trace_function"),
        *_tensorflow("eager/function.py", "_create_graph_function"),
        ("jax/_src/interpreters/partial_eval.py", ("trace_to_jaxpr",)),
        ("torch/_dynamo/", ()),
    ),
    Role.COMPILES: (
        ("jax/_src/compiler.py", ("backend_compile", "compile_or_get_cached", "_compile_and_write_cache")),
        ("jax/_src/dispatch.py", ("backend_compile", "compile_or_get_cached")),  # up to 0.4.15
        ("jax/_src/interpreters/pxla.py", ("compile", "from_hlo", "lower_sharding_computation")),
        ("jax/_src/interpreters/mlir.py", ()),
        ("torch/_inductor/", ()),
    ),
}


@lru_cache(maxsize=4096)
def _roles(file: str, function: str) -> frozenset[Role]:
    return frozenset(
        role
        for role, places in _PLACES.items()
        if any(part in file and (not names or any(name in function for name in names)) for part, names in places)
    )


def has_role(frame: Frame, role: Role) -> bool:
    return not is_native(frame) and role in _roles(frame["file"], frame["function"])


def list_files(role: Role) -> tuple[str, ...]:
    """Parts of the paths of files whose every function has this role."""
    return tuple(part for part, functions in _PLACES[role] if not functions)
