"""Which module of a framework is hooked by what. A hook runs right after the program has imported the module."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from unstall.inside import (
    batches,
    eager,
    gradients,
    gradients_keras,
    guessing,
    keras_callbacks,
    keras_input,
    own_loop,
    saving,
    tf_pipeline,
    traces,
    weights,
)
from unstall.inside.probe import Probe

HOOKS: list[tuple[str, Callable[[ModuleType, Probe], None]]] = [
    ("keras.src.callbacks.callback_list", keras_callbacks.install),
    ("tf_keras.src.callbacks", keras_callbacks.install_tf_keras),
    ("keras.src.trainers.epoch_iterator", keras_input.install),
    ("keras.src.backend.tensorflow.trainer", keras_input.install_tensorflow),
    ("keras.src.backend.jax.trainer", keras_input.install_jax),
    ("keras.src.backend.torch.trainer", keras_input.install_torch),
    ("tf_keras.src.engine.data_adapter", keras_input.install_tf_keras),
    ("keras.src.models.model", saving.install_model),
    ("tf_keras.src.engine.training", saving.install_model),
    ("tensorflow.python.checkpoint.checkpoint", saving.install_checkpoint),
    ("tensorflow.python.data.ops.dataset_ops", tf_pipeline.install),
    ("tensorflow.python.data.ops.iterator_ops", own_loop.install_iterators),
    ("tensorflow.python.data.ops.iterator_ops", batches.install_iterators),
    ("tensorflow.python.eager.backprop", gradients.install),
    ("tensorflow.python.eager.backprop", weights.install_tape),
    ("tensorflow.python.eager.backprop", guessing.install),
    ("tensorflow.python.eager.polymorphic_function.polymorphic_function", own_loop.install_functions),
    ("tensorflow.python.eager.polymorphic_function.eager_function_run", eager.install_switch),
    ("tensorflow.python.eager.polymorphic_function.tracing_compilation", traces.install),
    ("keras.src.trainers.data_adapters.array_data_adapter", guessing.install_arrays),
    ("keras.src.trainers.data_adapters.generator_data_adapter", batches.install_generators),
    ("keras.src.trainers.data_adapters.py_dataset_adapter", batches.install_py_datasets),
    ("keras.src.trainers.trainer", eager.install_trainer),
    ("keras.src.optimizers.base_optimizer", gradients_keras.install),
    ("keras.src.optimizers.base_optimizer", weights.install_optimizers),
    ("keras.src.callbacks.learning_rate_scheduler", weights.install_scheduler),
    ("keras.src.layers.layer", weights.install_layers),
    ("jax.monitoring", traces.install_jax),
]
