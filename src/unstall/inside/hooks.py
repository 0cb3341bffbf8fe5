"""Which module of a framework is hooked by what. A hook runs right after the program has imported the module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from unstall.inside import (
    batch_facts,
    batches,
    compiler_memory,
    eager,
    fit_interrupts,
    frames,
    gradients,
    gradients_keras,
    graph_loops,
    guessing,
    holdings,
    images_read,
    keras_callbacks,
    keras_input,
    loss_calls,
    membership,
    model_facts,
    model_record,
    numerics,
    own_loop,
    patterns,
    replicas,
    saving,
    tf_measure,
    tf_pipeline,
    traces,
    weights,
)
from unstall.inside.probe import Probe

if TYPE_CHECKING:
    Hook = Callable[[ModuleType, Probe], None]

# The packages of Keras 2: tf_keras; 2.13 to 2.15; up to 2.12; as a part of TensorFlow up to 2.5, and up to 2.1.
KERAS_2 = ("tf_keras.src", "keras.src", "keras", "tensorflow.python.keras", "tensorflow_core.python.keras")
OF_KERAS_2: list[tuple[str, Hook]] = [
    ("utils.traceback_utils", frames.install_shortened),
    ("callbacks", keras_callbacks.install_keras_2),
    ("callbacks", numerics.install),
    ("callbacks", model_record.install),
    ("losses", loss_calls.install),
    ("engine.training", model_facts.install_keras_2),
    ("engine.data_adapter", batch_facts.install_keras_2),
    ("engine.data_adapter", keras_input.install_keras_2),
    ("engine.training", fit_interrupts.install_keras_2),
    ("engine.training", saving.install_model),
    ("engine.data_adapter", batches.install_generators),
    ("engine.training", eager.install_keras_2),
    ("engine.base_layer", weights.install_layers),
    ("optimizers.optimizer", weights.install_keras_2_optimizers),
    ("optimizers.optimizer_experimental.optimizer", weights.install_keras_2_optimizers),  # 2.9 to 2.11
    ("callbacks", holdings.install),
]


def _of_keras_2(package: str, hook: Hook) -> Hook:
    """The hook, but not in Keras 3, nor in the package of Keras 2.13 that only leads to `keras.src`: neither has an engine."""

    def install(module: ModuleType, probe: Probe) -> None:
        folder = os.path.dirname(getattr(sys.modules.get(package), "__file__", None) or "")
        if os.path.isdir(os.path.join(folder, "engine")):
            hook(module, probe)

    return install


HOOKS: list[tuple[str, Hook]] = [
    *((f"{package}.{name}", _of_keras_2(package, hook)) for package in KERAS_2 for name, hook in OF_KERAS_2),
    ("keras.src.utils.traceback_utils", frames.install_shortened),
    ("tensorflow.python.util.traceback_utils", frames.install_shortened),
    ("keras.src.callbacks.callback_list", keras_callbacks.install),
    ("keras.src.callbacks.callback_list", numerics.install),
    ("tensorflow.python.eager.backprop", numerics.install),
    ("keras.src.callbacks.callback_list", model_record.install),
    ("tensorflow.python.eager.backprop", model_record.install),
    ("keras.src.losses.loss", loss_calls.install),
    ("keras.src.trainers.epoch_iterator", keras_input.install),
    ("keras.src.backend.tensorflow.trainer", keras_input.install_tensorflow),
    ("keras.src.backend.jax.trainer", keras_input.install_jax),
    ("keras.src.backend.torch.trainer", keras_input.install_torch),
    ("keras.src.backend.tensorflow.trainer", fit_interrupts.install_tensorflow),
    ("keras.src.backend.jax.trainer", fit_interrupts.install_jax),
    ("keras.src.backend.torch.trainer", fit_interrupts.install_torch),
    ("keras.src.models.model", saving.install_model),
    ("tensorflow.python.checkpoint.checkpoint", saving.install_checkpoint),
    ("tensorflow.python.training.tracking.util", saving.install_checkpoint),  # up to TensorFlow 2.8
    ("tensorflow.python.data.ops.dataset_ops", tf_pipeline.install),
    ("tensorflow.python.data.ops.dataset_autograph", graph_loops.install),
    ("tensorflow.python.data.ops.readers", tf_pipeline.install_readers),
    ("tensorflow.python.data.ops.iterator_ops", tf_measure.install),
    ("cv2", images_read.install),
    ("glob", patterns.install),
    ("tensorflow.python.lib.io.file_io", patterns.install),
    ("tensorflow.python.data.ops.iterator_ops", own_loop.install_iterators),
    ("tensorflow.python.data.ops.iterator_ops", batches.install_iterators),
    ("tensorflow.python.distribute.mirrored_run", replicas.install),
    ("tensorflow.python.eager.backprop", gradients.install),
    ("tensorflow.python.eager.backprop", weights.install_tape),
    ("tensorflow.python.eager.backprop", guessing.install),
    ("tensorflow.python.eager.polymorphic_function.polymorphic_function", own_loop.install_functions),
    ("tensorflow.python.eager.def_function", own_loop.install_functions),  # up to TensorFlow 2.8
    ("tensorflow.python.eager.polymorphic_function.eager_function_run", eager.install_switch),
    ("tensorflow.python.eager.polymorphic_function.tracing_compilation", traces.install),
    ("tensorflow.python.eager.polymorphic_function.tracing_compilation", frames.install_traced),
    ("keras.src.trainers.data_adapters.array_data_adapter", guessing.install_arrays),
    ("keras.src.trainers.data_adapters.generator_data_adapter", batches.install_generators),
    ("keras.src.trainers.data_adapters.py_dataset_adapter", batches.install_py_datasets),
    ("keras.src.trainers.trainer", eager.install_trainer),
    ("keras.src.optimizers.base_optimizer", gradients_keras.install),
    ("keras.src.optimizers.base_optimizer", weights.install_optimizers),
    ("keras.src.callbacks.learning_rate_scheduler", weights.install_scheduler),
    ("keras.src.layers.layer", weights.install_layers),
    ("keras.src.backend.jax.trainer", own_loop.install_jax_trainer),
    ("jax.monitoring", traces.install_jax),
    ("jax.monitoring", compiler_memory.install_jax),
    ("jax._src.distributed", membership.install_jax),
    ("torch.distributed.distributed_c10d", membership.install_torch),
    ("tensorflow.python.distribute.cluster_resolver.tfconfig_cluster_resolver", membership.install_tensorflow),
    ("keras.src.trainers.trainer", holdings.install),
    ("tensorflow.python.eager.backprop", holdings.install),
    ("torch.optim.optimizer", holdings.install_torch),
]
