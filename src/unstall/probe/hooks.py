"""Which module of a framework is hooked by what. A hook runs right after the program has imported the module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from unstall.probe.core import traceback_filter
from unstall.probe.core.probe import Probe
from unstall.probe.coverage import (
    COMPILATIONS,
    GRADIENTS,
    INPUT_WAIT,
    LABELS,
    LEARNING_RATE,
    LOSS,
    PIPELINE,
    SAVES,
    STEPS,
    TRACES,
    WEIGHTS,
)
from unstall.probe.errors import makers, python_functions, refused_checkpoints
from unstall.probe.fit import callback_list, callback_times, interrupts
from unstall.probe.host import container_growth, devices, rank
from unstall.probe.input import batch_samples, data_files, epoch_iterator, repeated_batches, tf_pipeline, tf_stage_costs
from unstall.probe.loop import (
    custom_training,
    distributed_input,
    eager_profile,
    graph_loops,
    jax_training,
    replicas,
    sessions,
    steps_per_call,
    torch_training,
    traces,
)
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
    Install = Callable[[ModuleType, Probe], object]


class Hook(NamedTuple):
    module: str  # after whose import it is installed
    install: Install
    gives: tuple[str, ...] = ()  # signals that are seen where it finds its place in the module
    is_listener: bool = False  # it replaces nothing, but is told: `install` says whether it will be


# The packages of Keras 2: tf_keras; 2.13 to 2.15; up to 2.12; as a part of TensorFlow up to 2.5, and up to 2.1.
KERAS_2 = ("tf_keras.src", "keras.src", "keras", "tensorflow.python.keras", "tensorflow_core.python.keras")
OF_KERAS_2: list[Hook] = [
    Hook("utils.traceback_utils", traceback_filter.install_shortened),
    Hook("callbacks", callback_list.install_keras_2, (STEPS, LOSS)),
    Hook("callbacks", weight_updates.install, (WEIGHTS, LEARNING_RATE), is_listener=True),
    Hook("callbacks", record.install),
    Hook("losses", loss_inputs.install),
    Hook("engine.training", description.install_keras_2),
    Hook("engine.data_adapter", batch_samples.install_keras_2, (LABELS,)),
    Hook("engine.data_adapter", baseline_loss.install_arrays),
    Hook("engine.data_adapter", epoch_iterator.install_keras_2, (INPUT_WAIT,)),
    Hook("engine.training", interrupts.install_keras_2),
    Hook("engine.training", callback_times.install_model, (SAVES,)),
    Hook("engine.data_adapter", repeated_batches.install_generators),
    Hook("engine.training", eager_profile.install_keras_2),
    Hook("engine.base_layer", trainable_weights.install_layers),
    Hook("engine.base_layer", makers.install_layers),
    Hook("optimizers.optimizer", trainable_weights.install_keras_2_optimizers),
    Hook("optimizers.optimizer_experimental.optimizer", trainable_weights.install_keras_2_optimizers),  # 2.9 to 2.11
    Hook("optimizers.legacy.optimizer_v2", trainable_weights.install_keras_2_optimizers),  # the default up to 2.10:
    Hook("optimizers.optimizer_v2.optimizer_v2", trainable_weights.install_keras_2_optimizers),  # in 2.9 and 2.10
    Hook("optimizer_v2.optimizer_v2", trainable_weights.install_keras_2_optimizers),  # before that
    Hook("callbacks", container_growth.install),
]


def _of_keras_2(package: str, hook: Hook) -> Hook:
    """The hook in this package, but not in Keras 3, nor in the package of Keras 2.13 that only leads to `keras.src`: neither has
    an engine."""

    def install(module: ModuleType, probe: Probe) -> object:
        folder = os.path.dirname(getattr(sys.modules.get(package), "__file__", None) or "")
        return os.path.isdir(os.path.join(folder, "engine")) and hook.install(module, probe)

    return hook._replace(module=f"{package}.{hook.module}", install=install)


HOOKS: list[Hook] = [
    *(_of_keras_2(package, hook) for package in KERAS_2 for hook in OF_KERAS_2),
    Hook("keras.src.utils.traceback_utils", traceback_filter.install_shortened),
    Hook("tensorflow.python.util.traceback_utils", traceback_filter.install_shortened),
    Hook("keras.src.callbacks.callback_list", callback_list.install, (STEPS, LOSS)),
    Hook("keras.src.callbacks.callback_list", weight_updates.install, (WEIGHTS, LEARNING_RATE), is_listener=True),
    Hook("tensorflow.python.eager.backprop", weight_updates.install, (WEIGHTS, LEARNING_RATE), is_listener=True),
    Hook("keras.src.callbacks.callback_list", record.install),
    Hook("tensorflow.python.eager.backprop", record.install),
    Hook("keras.src.losses.loss", loss_inputs.install),
    Hook("keras.src.trainers.epoch_iterator", epoch_iterator.install, (INPUT_WAIT,)),
    Hook("keras.src.backend.tensorflow.trainer", epoch_iterator.install_tensorflow),
    Hook("keras.src.backend.jax.trainer", epoch_iterator.install_jax),
    Hook("keras.src.backend.torch.trainer", epoch_iterator.install_torch),
    Hook("keras.src.backend.tensorflow.trainer", interrupts.install_tensorflow),
    Hook("keras.src.backend.jax.trainer", interrupts.install_jax),
    Hook("keras.src.backend.torch.trainer", interrupts.install_torch),
    Hook("keras.src.models.model", callback_times.install_model, (SAVES,)),
    Hook("tensorflow.python.checkpoint.checkpoint", callback_times.install_checkpoint, (SAVES,)),
    Hook("tensorflow.python.training.tracking.util", callback_times.install_checkpoint, (SAVES,)),  # up to TensorFlow 2.8
    Hook("tensorflow.python.training.saver", callback_times.install_saver),
    Hook("tensorflow.python.data.ops.dataset_ops", tf_pipeline.install, (PIPELINE,)),
    Hook("tensorflow.python.ops.script_ops", python_functions.install),
    Hook("tensorflow.python.data.ops.dataset_autograph", graph_loops.install),
    Hook("tensorflow.python.data.ops.readers", tf_pipeline.install_readers),
    Hook("tensorflow.python.data.ops.iterator_ops", tf_stage_costs.install),
    Hook("cv2", data_files.install_images),
    Hook("glob", data_files.install_patterns),
    Hook("tensorflow.python.lib.io.file_io", data_files.install_patterns),
    Hook("tensorflow.python.data.ops.iterator_ops", custom_training.install_iterators, (INPUT_WAIT,)),
    Hook("tensorflow.python.data.ops.iterator_ops", repeated_batches.install_iterators),
    Hook("tensorflow.python.data.ops.multi_device_iterator_ops", distributed_input.install),
    Hook("tensorflow.python.eager.backprop", steps_per_call.install),
    Hook("tensorflow.python.distribute.mirrored_run", replicas.install),
    Hook("tensorflow.python.client.session", sessions.install),
    Hook("tensorflow.python.eager.backprop", gradients.install, (STEPS, LOSS, GRADIENTS)),
    Hook("tensorflow.python.eager.backprop", trainable_weights.install_tape),
    Hook("tensorflow.python.eager.backprop", baseline_loss.install),
    Hook("tensorflow.python.eager.polymorphic_function.polymorphic_function", custom_training.install_functions),
    Hook("tensorflow.python.eager.def_function", custom_training.install_functions),  # up to TensorFlow 2.8
    Hook("tensorflow.python.eager.polymorphic_function.eager_function_run", eager_profile.install_switch),
    Hook("tensorflow.python.eager.polymorphic_function.tracing_compilation", traces.install, (TRACES,)),
    Hook("tensorflow.python.eager.polymorphic_function.tracing_compiler", traces.install_methods, (TRACES,)),  # up to 2.13
    Hook("tensorflow.python.eager.function", traces.install_methods, (TRACES,)),  # up to 2.9
    Hook("tensorflow.python.eager.polymorphic_function.tracing_compilation", traceback_filter.install_traced),
    Hook("keras.src.trainers.data_adapters.array_data_adapter", baseline_loss.install_arrays, (LABELS,)),
    Hook("keras.src.trainers.data_adapters.generator_data_adapter", repeated_batches.install_generators),
    Hook("keras.src.trainers.data_adapters.py_dataset_adapter", repeated_batches.install_py_datasets),
    Hook("keras.src.trainers.trainer", eager_profile.install_trainer),
    Hook("keras.src.optimizers.base_optimizer", gradients_keras.install, (GRADIENTS,)),
    Hook("keras.src.optimizers.base_optimizer", trainable_weights.install_optimizers),
    Hook("keras.src.callbacks.learning_rate_scheduler", trainable_weights.install_scheduler),
    Hook("keras.src.layers.layer", trainable_weights.install_layers),
    Hook("keras.src.layers.layer", makers.install_layers),
    Hook("keras.src.backend.jax.trainer", jax_training.install_jax_trainer),
    Hook("jax._src.api", jax_training.install, (WEIGHTS,)),
    Hook("jax._src.pjit", jax_training.install_calls),
    Hook("jax.monitoring", traces.install_jax, (COMPILATIONS,), is_listener=True),
    Hook("jax.monitoring", devices.install_jax),
    Hook("jax._src.distributed", rank.install_jax),
    Hook("torch.distributed.distributed_c10d", rank.install_torch),
    Hook("tensorflow.python.distribute.cluster_resolver.tfconfig_cluster_resolver", rank.install_tensorflow),
    Hook("keras.src.trainers.trainer", container_growth.install),
    Hook("tensorflow.python.eager.backprop", container_growth.install),
    Hook("jax._src.api", container_growth.install),
    Hook("torch.optim.optimizer", container_growth.install_torch),
    Hook("torch.optim.optimizer", torch_training.install_optimizers, (STEPS,), is_listener=True),
    Hook("torch._tensor", torch_training.install_tensors),
    Hook("torch._utils", makers.install_workers),
    Hook("torch.serialization", refused_checkpoints.install),
    Hook("torch.utils.data.dataloader", torch_training.install_loaders, (INPUT_WAIT,)),
]
