"""Convolutions and norms as the published detectors have them: padded evenly on both sides, named by their key in torchvision.

The name is what weights are found by: the layer `backbone.body.conv1` takes `backbone.body.conv1.weight`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import keras
from keras import ops

from unstall.backends import torch_nn
from unstall.backends.devices import is_compiled, is_on_processor
from unstall.config.detectors.ranges import Precision
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.initializers import glorot_uniform

ALIGNED_TO = 8  # channels: matrix units read 16 bytes at a time; cuDNN copies what is not laid so, several times a step
MIN_VARIANCE = 1e-30  # with the published epsilon of 0 a channel that never varied would give infinity


@contextmanager
def precision(name: Precision) -> Iterator[None]:
    """Layers made inside compute so. Variables and losses stay in float32."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


class KeyedLayer:
    """Stands before the class of a layer that has variables. The layer's name has the dots of its key; the paths of its variables
    have hyphens for them, as not every backend takes a dot there."""

    def add_weight(self, *values: Any, **more: Any) -> Any:
        variable = super().add_weight(*values, **more)  # type: ignore[misc]
        variable._path = variable.path.replace(".", "-")
        return variable


class Conv(KeyedLayer, keras.layers.Conv2D):  # type: ignore[misc]
    """With as much padding before as behind, where Keras's `same` pads an image of even size behind only."""

    def __init__(
        self, filters: int, size: int, *, stride: int = 1, dilation: int = 1, pad: int | None = None, **more: Any
    ) -> None:
        around = dilation * (size - 1) // 2 if pad is None else pad
        is_same = stride == 1 and size % 2 == 1 and around == dilation * (size - 1) // 2
        padding = "same" if is_same and around else "valid"
        more.setdefault("kernel_initializer", glorot_uniform())
        super().__init__(filters, size, strides=stride, dilation_rate=dilation, padding=padding, **more)
        self._around = around

    @property
    def _outside(self) -> int:
        """What is to be padded beforehand."""
        return 0 if self.padding == "same" else self._around

    def call(self, x: Tensor) -> Tensor:
        missing = -self.filters % ALIGNED_TO
        if not missing or self.compute_dtype == "float32":
            return super().call(x)
        kernel = ops.pad(self.kernel, ((0, 0), (0, 0), (0, 0), (0, missing)))
        y = self._convolved(x, kernel)
        if self.use_bias:  # before the rest is cut off: its gradient is then summed up from what the kernel's is computed from
            y = y + ops.reshape(ops.pad(self.bias, ((0, missing),)), (1, 1, 1, -1))
        return y[..., : self.filters]

    def convolution_op(self, x: Tensor, kernel: Tensor) -> Tensor:
        """One of 1×1 is a product of matrices, and its gradients then are too: on a CPU, in float32, nearly twice as fast.

        Not on a card: XLA's compiler for these (JAX 0.11) dies of products of every second pixel."""
        if self.kernel_size != (1, 1) or self.compute_dtype != "float32" or not is_on_processor():
            return self._convolved(x, kernel)
        step = self.strides[0]
        x = x[:, ::step, ::step] if step > 1 else x
        _, height, width, channels = x.shape
        product = ops.matmul(ops.reshape(x, (-1, channels)), ops.reshape(kernel, (channels, self.filters)))
        return ops.reshape(product, (-1, height, width, self.filters))

    def _convolved(self, x: Tensor, kernel: Tensor) -> Tensor:
        kernel, step, dilation = ops.convert_to_tensor(kernel), self.strides[0], self.dilation_rate[0]
        own = torch_nn.convolve(x, kernel, step, self._around, dilation)
        if own is not None:
            return own
        return ops.conv(pad_image(x, self._outside), kernel, step, self.padding, "channels_last", dilation)

    def compute_output_shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        result: tuple[int | None, ...] = super().compute_output_shape(pad_shape(shape, self._outside))
        return result


class StemConv(Conv):
    """7×7, every second pixel, of an image's three channels: as many channels leave most of a matrix unit idle.

    Where it computes in 16 bits, every 2×2 pixels become one of 16 channels (a fourth is added to the three, of zeros), and the
    kernel, a zero row and column added to it, one of 4×4: the same sums. The weights are those of the plain one.
    """

    def __init__(self, filters: int, *, name: str, **more: Any) -> None:
        super().__init__(filters, 7, stride=2, use_bias=False, name=name, **more)

    def call(self, x: Tensor) -> Tensor:
        _, height, width, channels = x.shape
        if self.compute_dtype == "float32" or height % 2 or width % 2:
            return super().call(x)
        # Filled up before they are laid together: TensorFlow's rewriting of graphs (2.21, CPU) dies of a padding right before a
        # convolution of 16 bits whose kernel is computed.
        fill = -channels % (ALIGNED_TO // 2)
        down, across, channels = height // 2 + 3, width // 2 + 3, channels + fill
        x = ops.pad(x, ((0, 0), (3, 3), (3, 3), (0, fill)))
        x = ops.transpose(ops.reshape(x, (-1, down, 2, across, 2, channels)), (0, 1, 3, 2, 4, 5))
        x = ops.reshape(x, (-1, down, across, 4 * channels))
        kernel = ops.pad(self.kernel, ((0, 1), (0, 1), (0, fill), (0, 0)))
        kernel = ops.transpose(ops.reshape(kernel, (4, 2, 4, 2, channels, self.filters)), (0, 2, 1, 3, 4, 5))
        kernel = ops.reshape(kernel, (4, 4, 4 * channels, self.filters))
        own = torch_nn.convolve(x, kernel, 1, 0)
        return ops.conv(x, kernel, 1, "valid", "channels_last") if own is None else own


class DepthwiseConv(KeyedLayer, keras.layers.DepthwiseConv2D):  # type: ignore[misc]
    """The same, each channel by itself."""

    def __init__(self, size: int, *, stride: int = 1, dilation: int = 1, **more: Any) -> None:
        more.setdefault("depthwise_initializer", glorot_uniform())
        super().__init__(size, strides=stride, dilation_rate=dilation, padding="same" if stride == 1 else "valid", **more)
        self._around = dilation * (size - 1) // 2

    @property
    def _outside(self) -> int:
        return 0 if self.padding == "same" else self._around

    def call(self, x: Tensor) -> Tensor:
        kernel = ops.convert_to_tensor(self.kernel)
        own = torch_nn.convolve_depthwise(x, kernel, self.strides[0], self._around, self.dilation_rate[0])
        if own is None:
            return super().call(pad_image(x, self._outside))
        return own + ops.reshape(self.bias, (1, 1, 1, -1)) if self.use_bias else own

    def compute_output_shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        result: tuple[int | None, ...] = super().compute_output_shape(pad_shape(shape, self._outside))
        return result


def pad_shape(shape: tuple[int | None, ...], around: int) -> tuple[int | None, ...]:
    batch, *sides, channels = shape
    return (batch, *(None if side is None else side + 2 * around for side in sides), channels)


def pad_image(x: Tensor, around: int) -> Tensor:
    return ops.pad(x, ((0, 0), (around, around), (around, around), (0, 0))) if around else x


def max_pool(x: Tensor, size: int, stride: int, around: int = 0, takes_rest: bool = False) -> Tensor:
    """After a ReLU, where zeros at the border never win over what is there. `takes_rest`: an odd last row and column are kept.

    Compiled: row by row, then column by column, the largest of so many slices. Its gradient is a comparison, where that of a
    window is a search which XLA does one window at a time (on a CPU 13 and 53 ms), and on a card in float32, with copies (a step
    of SSD 27 and 35 ms, 3.3 and 4.2 GiB). Operation by operation the backend's own window is faster than so many slices
    (TensorFlow 4 and 96 ms, PyTorch 25 and 40).
    """
    own = torch_nn.max_pool(x, size, stride, around, takes_rest)
    if own is not None:
        return own
    x = pad_image(x, around)
    if not is_compiled():
        return ops.max_pool(x, size, stride, padding="same" if takes_rest else "valid")
    rest = [-(side - size) % stride if takes_rest else 0 for side in x.shape[1:3]]
    x = ops.pad(x, ((0, 0), (0, rest[0]), (0, rest[1]), (0, 0))) if any(rest) else x
    for axis in (1, 2):
        steps = (x.shape[axis] - size) // stride + 1
        slices = [_every(x, axis, begin, stride, steps) for begin in range(size)]
        x = functools.reduce(ops.maximum, slices)
    return x


def _every(x: Tensor, axis: int, begin: int, stride: int, steps: int) -> Tensor:
    place = slice(begin, begin + stride * (steps - 1) + 1, stride)
    return x[:, place] if axis == 1 else x[:, :, place]


def split_by_anchor(outputs: Tensor, values: int) -> Tensor:
    """(batch, height, width, anchors of a cell · values) to (batch, anchors, values)."""
    _, height, width, channels = outputs.shape
    return ops.reshape(outputs, (-1, height * width * (channels // values), values))


class BatchNorm(KeyedLayer, keras.layers.BatchNormalization):  # type: ignore[misc]
    """Frozen (`trainable=False`) it is a factor and a summand. Momentum is Keras's: 1 less PyTorch's.

    Computes in float32 whatever comes in; what goes out is as narrow as what came. Keras's own goes over the values three times.
    """

    def __init__(self, *, name: str, epsilon: float = 1e-5, momentum: float = 0.9, **more: Any) -> None:
        super().__init__(name=name, epsilon=epsilon, momentum=momentum, **more)

    def call(self, x: Tensor, training: bool | None = None, counts: Tensor | None = None) -> Tensor:
        """Where `counts` (batch,) is given, statistics are taken from what counts alone."""
        fused = self._fused(x, bool(training and self.trainable)) if counts is None else None
        if fused is not None:
            return fused
        values = ops.cast(x, "float32")
        factor, summand = self.line(values, training, counts)
        return ops.cast(values * factor + summand, self.compute_dtype)

    def line(self, values: Tensor, training: bool | None = None, counts: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What each channel of these values (float32) is multiplied by, and what is added to it then."""
        gamma, beta, mean, variance = self._held()
        if training and self.trainable:
            result = _collected.get()
            about = mean if result is None else result.abouts[id(self)]
            mean, variance = compute_moments(values, (0, 1, 2), about=about, counts=counts)
            self._collect(mean, variance)
        factor = gamma * ops.rsqrt(ops.maximum(variance + self.epsilon, MIN_VARIANCE))
        return factor, beta - mean * factor

    def _held(self) -> list[Tensor]:
        held = self.gamma, self.beta, self.moving_mean, self.moving_variance
        return [ops.convert_to_tensor(each) for each in held]

    def _fused(self, x: Tensor, learns: bool) -> Tensor | None:
        gamma, beta, mean, variance = self._held()
        epsilon = max(self.epsilon, MIN_VARIANCE)
        if not learns:
            return torch_nn.batch_norm_frozen(x, gamma, beta, mean, variance, epsilon)
        fused = torch_nn.batch_norm(x, gamma, beta, epsilon)
        if fused is None:
            return None
        y, *moments = fused
        self._collect(*moments)
        return y

    def learn(self, mean: Tensor, variance: Tensor) -> None:
        """The running statistics, from those of a batch."""
        self.moving_mean.assign(self.moving_mean * self.momentum + mean * (1 - self.momentum))
        self.moving_variance.assign(self.moving_variance * self.momentum + variance * (1 - self.momentum))

    def _collect(self, mean: Tensor, variance: Tensor) -> None:
        result = _collected.get()
        if result is None:
            self.learn(mean, variance)
        else:
            result.moments.append((self, mean, variance))


class GroupNorm(KeyedLayer, keras.layers.GroupNormalization):  # type: ignore[misc]
    """As PyTorch's, in float32 inside."""

    def __init__(self, groups: int, *, name: str, epsilon: float = 1e-5) -> None:
        super().__init__(groups, epsilon=epsilon, name=name, autocast=False)

    def call(self, x: Tensor) -> Tensor:
        gamma, beta = ops.convert_to_tensor(self.gamma), ops.convert_to_tensor(self.beta)
        fused = torch_nn.group_norm(x, self.groups, gamma, beta, self.epsilon)
        if fused is not None:
            return fused
        channels = x.shape[-1]
        values = ops.cast(x, "float32")
        # Channel by channel first: sums along the innermost axis alone, in pieces of a group's size, read memory badly.
        mean, square = (ops.mean(each, axis=(1, 2)) for each in (values, values * values))
        mean, square = (
            ops.mean(ops.reshape(each, (-1, self.groups, channels // self.groups)), axis=2) for each in (mean, square)
        )
        variance = ops.maximum(square - mean * mean, 0.0)
        inverse = ops.rsqrt(variance + self.epsilon)
        of_channel = (self.groups, channels // self.groups)
        factor = inverse[:, :, None] * ops.reshape(self.gamma, of_channel)
        summand = ops.reshape(self.beta, of_channel) - mean[:, :, None] * factor
        factor, summand = (ops.reshape(each, (-1, 1, 1, channels)) for each in (factor, summand))
        return ops.cast(values * factor + summand, x.dtype)


def compute_moments(
    values: Tensor, axes: tuple[int, ...], about: Tensor | float = 0.0, counts: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance by the sums of values and of squares, which one reading of the values gives. Taken about a number near
    the mean, such as the running one, the difference of the two loses no digits. `counts` (batch,) says what is part of them."""
    moved = values - about
    if counts is None:
        mean, square = ops.mean(moved, axis=axes), ops.mean(moved * moved, axis=axes)
    else:
        counts = ops.cast(counts, "float32")
        share = ops.mean(counts)  # nothing counts: nothing is summed either, and 0 is the mean
        counts = ops.reshape(counts / ops.where(share > 0, share, 1.0), (-1, *(1,) * (len(values.shape) - 1)))
        mean, square = ops.mean(moved * counts, axis=axes), ops.mean(moved * moved * counts, axis=axes)
    return mean + about, ops.maximum(square - mean * mean, 0.0)


# --- computing again instead of keeping ---


class NormStatistics(NamedTuple):
    """What norms say while a layer is computed that will be computed again."""

    moments: list[tuple[BatchNorm, Tensor, Tensor]]
    abouts: dict[int, Tensor]  # of each norm, its running mean before it learned: computed again, it is to round the same


_collected: ContextVar[NormStatistics | None] = ContextVar("statistics of norms", default=None)


def rematerialize(layer: keras.layers.Layer, x: Tensor, then: Callable[[Tensor], Tensor] = lambda y: y) -> Tensor:
    """`then(layer(x, training=True))`, of which only `x` is kept until the gradients are computed; then it is computed again.

    Statistics leave as outputs, and norms learn them outside: once, and from values that exist there.
    """
    abouts = {id(each): each.moving_mean + 0.0 for each in layer._flatten_layers() if isinstance(each, BatchNorm)}
    norms: list[BatchNorm] = []

    def compute(x: Tensor) -> tuple[Tensor, ...]:
        result = NormStatistics([], abouts)
        token = _collected.set(result)
        try:
            y = then(layer(x, training=True))
        finally:
            _collected.reset(token)
        norms[:] = [norm for norm, _, _ in result.moments]
        return (y, *(moment for _, mean, variance in result.moments for moment in (mean, variance)))

    y, *moments = keras.remat(compute)(x)
    for norm, mean, variance in zip(norms, moments[::2], moments[1::2], strict=True):
        norm.learn(ops.stop_gradient(mean), ops.stop_gradient(variance))
    return y


def list_leaf_layers(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """Those that hold variables of their own, in the order in which they were made."""
    for each in layer._flatten_layers():
        if each._trainable_variables or each._non_trainable_variables:
            yield each
