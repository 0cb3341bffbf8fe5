"""The losses of the published detectors, each element by itself, in float32 whatever the network computes in.

Nothing is averaged here: each detector divides by what its paper divides by. `where` guards keep masked elements from giving a
gradient that is not finite.
"""

from __future__ import annotations

from keras import ops

from unstall.detectors.layers.boxes import Tensor


def focal(logits: Tensor, is_class: Tensor, alpha: float, gamma: float) -> Tensor:
    """Of sigmoid outputs: (…, classes) logits, and whether each is the class there.

    With z the logit that it is wrong, the loss is sigmoid(z)^gamma · softplus(z), and log sigmoid(z) = z - softplus(z): no power,
    no logarithm of what may be 0, and nothing that overflows.
    """
    logits = ops.cast(logits, "float32")
    wrong = ops.where(is_class, -logits, logits)
    loss = ops.softplus(wrong)
    return ops.where(is_class, alpha, 1.0 - alpha) * ops.exp(gamma * (wrong - loss)) * loss


def binary_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Without an exponential that could overflow."""
    logits, target = ops.cast(logits, "float32"), ops.cast(target, "float32")
    return ops.softplus(logits) - logits * target


def cross_entropy(logits: Tensor, label: Tensor) -> Tensor:
    """Of softmax outputs: (…, classes) logits and (…) the class. The class is picked by comparing, as its gradient is then a
    subtraction and not a scatter."""
    logits = ops.cast(logits, "float32")
    is_class = ops.cast(label, "int32")[..., None] == ops.arange(logits.shape[-1], dtype="int32")
    return ops.logsumexp(logits, axis=-1) - ops.sum(ops.where(is_class, logits, 0.0), axis=-1)


def smooth_l1(predicted: Tensor, wanted: Tensor, beta: float) -> Tensor:
    """Summed over the four sides. A square below `beta`, straight above; beta 0 is plain L1."""
    distance = ops.abs(ops.cast(predicted, "float32") - wanted)
    if beta > 0:
        distance = ops.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)
    return ops.sum(distance, axis=-1)


def mine_hard_negatives(loss: Tensor, is_object: Tensor, is_background: Tensor, per_object: float) -> Tensor:
    """SSD's mining: for each object of an image the `per_object` background anchors with the greatest loss. (batch, anchors)

    Sorted once, for the loss that the last of them has; of several with just that loss the first are taken.
    """
    objects = ops.sum(ops.cast(is_object, "float32"), axis=1, keepdims=True)
    background = ops.sum(ops.cast(is_background, "int32"), axis=1, keepdims=True)
    wanted = ops.minimum(ops.cast(objects * per_object, "int32"), background)
    hardness = ops.where(is_background, ops.stop_gradient(ops.convert_to_tensor(loss)), -1.0)
    descending = -ops.sort(-hardness, axis=1)
    least = ops.take_along_axis(descending, ops.maximum(wanted - 1, 0), axis=1)
    is_harder, is_equal = hardness > least, hardness == least
    missing = wanted - ops.sum(ops.cast(is_harder, "int32"), axis=1, keepdims=True)
    is_early = ops.cumsum(ops.cast(is_equal, "int32"), axis=1) <= missing
    return (is_harder | (is_equal & is_early)) & (wanted > 0)


def compute_share(total: Tensor, count: Tensor) -> Tensor:
    """The sum over what it is divided by; over 1 where that is nothing, so that an empty batch gives 0."""
    return total / ops.maximum(ops.cast(count, "float32"), 1.0)
