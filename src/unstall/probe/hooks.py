"""Which module of a framework is hooked by what. A hook runs right after the program has imported the module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from unstall.probe.core import traceback_filter
from unstall.probe.core.probe import Probe
from unstall.probe.fit import callback_list, interrupts, save_times
from unstall.probe.host import compiler_memory, container_growth, rank
from unstall.probe.input import (
    batch_samples,
    epoch_iterator,
    file_patterns,
    repeated_batches,
    tf_pipeline,
    tf_stage_costs,
    unreadable_images,
)
from unstall.probe.loop import custom_training, eager_profile, graph_loops, replicas, traces
from unstall.probe.model import (
    baseline_loss,
    description,
    gradients,
    gradients_keras,
    loss_inputs,
    record,
    trainable_weights,
    weight_updates,
)

if TYPE_CHECKING:
    Hook = Callable[[ModuleType, Probe], None]

# The packages of Keras 2: tf_keras; 2.13 to 2.15; up to 2.12; as a part of TensorFlow up to 2.5, and up to 2.1.
KERAS_2 = ("tf_keras.src", "keras.src", "keras", "tensorflow.python.keras", "tensorflow_core.python.keras")
OF_KERAS_2: list[tuple[str, Hook]] = [
    ("utils.traceback_utils", traceback_filter.install_shortened),
    ("callbacks", callback_list.install_keras_2),
    ("callbacks", weight_updates.install),
    ("callbacks", record.install),
    ("losses", loss_inputs.install),
    ("engine.training", description.install_keras_2),
    ("engine.data_adapter", batch_samples.install_keras_2),
    ("engine.data_adapter", epoch_iterator.install_keras_2),
    ("engine.training", interrupts.install_keras_2),
    ("engine.training", save_times.install_model),
    ("engine.data_adapter", repeated_batches.install_generators),
    ("engine.training", eager_profile.install_keras_2),
    ("engine.base_layer", trainable_weights.install_layers),
    ("optimizers.optimizer", trainable_weights.install_keras_2_optimizers),
    ("optimizers.optimizer_experimental.optimizer", trainable_weights.install_keras_2_optimizers),  # 2.9 to 2.11
    ("callbacks", container_growth.install),
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
    ("keras.src.utils.traceback_utils", traceback_filter.install_shortened),
    ("tensorflow.python.util.traceback_utils", traceback_filter.install_shortened),
    ("keras.src.callbacks.callback_list", callback_list.install),
    ("keras.src.callbacks.callback_list", weight_updates.install),
    ("tensorflow.python.eager.backprop", weight_updates.install),
    ("keras.src.callbacks.callback_list", record.install),
    ("tensorflow.python.eager.backprop", record.install),
    ("keras.src.losses.loss", loss_inputs.install),
    ("keras.src.trainers.epoch_iterator", epoch_iterator.install),
    ("keras.src.backend.tensorflow.trainer", epoch_iterator.install_tensorflow),
    ("keras.src.backend.jax.trainer", epoch_iterator.install_jax),
    ("keras.src.backend.torch.trainer", epoch_iterator.install_torch),
    ("keras.src.backend.tensorflow.trainer", interrupts.install_tensorflow),
    ("keras.src.backend.jax.trainer", interrupts.install_jax),
    ("keras.src.backend.torch.trainer", interrupts.install_torch),
    ("keras.src.models.model", save_times.install_model),
    ("tensorflow.python.checkpoint.checkpoint", save_times.install_checkpoint),
    ("tensorflow.python.training.tracking.util", save_times.install_checkpoint),  # up to TensorFlow 2.8
    ("tensorflow.python.data.ops.dataset_ops", tf_pipeline.install),
    ("tensorflow.python.data.ops.dataset_autograph", graph_loops.install),
    ("tensorflow.python.data.ops.readers", tf_pipeline.install_readers),
    ("tensorflow.python.data.ops.iterator_ops", tf_stage_costs.install),
    ("cv2", unreadable_images.install),
    ("glob", file_patterns.install),
    ("tensorflow.python.lib.io.file_io", file_patterns.install),
    ("tensorflow.python.data.ops.iterator_ops", custom_training.install_iterators),
    ("tensorflow.python.data.ops.iterator_ops", repeated_batches.install_iterators),
    ("tensorflow.python.distribute.mirrored_run", replicas.install),
    ("tensorflow.python.eager.backprop", gradients.install),
    ("tensorflow.python.eager.backprop", trainable_weights.install_tape),
    ("tensorflow.python.eager.backprop", baseline_loss.install),
    ("tensorflow.python.eager.polymorphic_function.polymorphic_function", custom_training.install_functions),
    ("tensorflow.python.eager.def_function", custom_training.install_functions),  # up to TensorFlow 2.8
    ("tensorflow.python.eager.polymorphic_function.eager_function_run", eager_profile.install_switch),
    ("tensorflow.python.eager.polymorphic_function.tracing_compilation", traces.install),
    ("tensorflow.python.eager.polymorphic_function.tracing_compilation", traceback_filter.install_traced),
    ("keras.src.trainers.data_adapters.array_data_adapter", baseline_loss.install_arrays),
    ("keras.src.trainers.data_adapters.generator_data_adapter", repeated_batches.install_generators),
    ("keras.src.trainers.data_adapters.py_dataset_adapter", repeated_batches.install_py_datasets),
    ("keras.src.trainers.trainer", eager_profile.install_trainer),
    ("keras.src.optimizers.base_optimizer", gradients_keras.install),
    ("keras.src.optimizers.base_optimizer", trainable_weights.install_optimizers),
    ("keras.src.callbacks.learning_rate_scheduler", trainable_weights.install_scheduler),
    ("keras.src.layers.layer", trainable_weights.install_layers),
    ("keras.src.backend.jax.trainer", custom_training.install_jax_trainer),
    ("jax.monitoring", traces.install_jax),
    ("jax.monitoring", compiler_memory.install_jax),
    ("jax._src.distributed", rank.install_jax),
    ("torch.distributed.distributed_c10d", rank.install_torch),
    ("tensorflow.python.distribute.cluster_resolver.tfconfig_cluster_resolver", rank.install_tensorflow),
    ("keras.src.trainers.trainer", container_growth.install),
    ("tensorflow.python.eager.backprop", container_growth.install),
    ("torch.optim.optimizer", container_growth.install_torch),
]
