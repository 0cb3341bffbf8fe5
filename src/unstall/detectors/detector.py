"""What every detector is: images in, boxes out; and, with the boxes that are there, losses."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn

import keras
import numpy as np
from keras import ops

from unstall.base.errors import InvalidInputError
from unstall.data.augment.geometry import Resize
from unstall.detectors.layers import losses
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.nms import Detections
from unstall.detectors.layers.rng import Draw, draw_of

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of pixels from 0 to 1


# What Keras's methods would do here means nothing: `fit` would find no loss, and change no weight. Each names what works instead;
# the tests run these lines.
INSTEAD = {
    "fit": """A detector computes its losses from boxes, classes and masks, which fit(x, y) does not give. Train it by
    from unstall.training.fit import fit
    history = fit(detector, pipeline, epochs=1)
where pipeline is an unstall.data.pipeline.Pipeline, or by the command: unstall train --data PATH --model NAME""",
    "evaluate": """A detector is evaluated on a data set by COCO's average precision, not by a loss. Evaluate it by
    from unstall.detectors.detector import InferenceModel
    from unstall.training.evaluate.evaluation import evaluate
    figures = evaluate(InferenceModel(detector), data).score.figures()
where data is what unstall.data.formats.read gives, or by the command: unstall evaluate --weights FILE --data PATH""",
    "save": """A detector is saved as a weights file, which holds its settings. Save and load it by
    from unstall.detectors.weights import store
    store.save(detector, "weights.safetensors")
    detector = store.build_from("weights.safetensors")
or its weights alone by detector.save_weights("detector.weights.h5").""",
    "export": """A detector is exported with its decoding of boxes and its non-maximum suppression. Export it by
    from unstall.training.export import export
    export(detector, "savedmodel", "exported")
with "savedmodel", "onnx" or "litert" (all three need the TensorFlow backend), or by the command:
unstall export --weights FILE --to savedmodel OUT""",
}


class Targets(NamedTuple):
    """What is to be found, padded to a fixed number of boxes. An image may have none."""

    boxes: Tensor  # (batch, most, 4) left, top, right, bottom in pixels of the input
    classes: Tensor  # (batch, most) from 0; anything where there is no box
    mask: Tensor  # (batch, most) whether there is a box


class Term(NamedTuple):
    """A loss before it is shared out, so that a batch that is computed in parts is shared by what the whole of it holds."""

    total: Tensor  # a sum over the images, in float32
    count: Tensor  # of what the sum is shared by; where that is nothing, it is shared by 1


def divide_terms(terms: dict[str, Term]) -> dict[str, Tensor]:
    return {name: losses.compute_share(term.total, term.count) for name, term in terms.items()}


class Detector(keras.Model):  # type: ignore[misc]
    """A subclass builds its layers in `__init__`, named by torchvision's keys, and calls `self.build_all()` last.

    `self(images)` gives the raw outputs; all tensors are of fixed shape, so that a step compiles once.
    """

    resize: ClassVar[Resize] = "letterbox"  # how images are brought to its size: as they were in training
    loss_names: ClassVar[tuple[str, ...]] = ("class", "box")  # what `compute_losses` gives, in that order

    def __init__(self, settings: Any, mean: tuple[float, ...], std: tuple[float, ...], name: str) -> None:
        # The detector itself is of float32 whatever the program's policy: pixels and boxes lose nothing on their way in.
        super().__init__(name=name, dtype="float32")
        self.settings = settings
        self._mean, self._std = (np.asarray(values, np.float32) * 255 for values in (mean, std))
        self._inference = _LazyInferenceModel(self)

    def prepared(self, images: Tensor) -> Tensor:
        """Pixels 0 to 255 (uint8, as the pipeline gives them, or float) normalised, on the device."""
        return ops.divide(ops.subtract(ops.cast(images, "float32"), self._mean), self._std)

    def build_all(self) -> None:
        """Makes every variable, by one call that computes shapes and nothing else."""
        height, width = self.settings.image_size
        self(keras.KerasTensor((1, height, width, 3), dtype="float32"))

    def compute_losses(self, images: Tensor, targets: Targets, seed: Any = None, training: bool = True) -> dict[str, Tensor]:
        """Scalars in float32 by `loss_names`, finite whatever the batch holds; their sum is what is minimised. `seed` is what
        `draw_of` takes, for detectors that sample. Without `training` norms use and keep what they have learned."""
        return divide_terms(self.compute_loss_terms(images, targets, draw_of(seed), training))

    @abstractmethod
    def compute_loss_terms(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Term]:
        """What `compute_losses` shares out. Counts take no part in the gradient."""

    @abstractmethod
    def compute_loss_counts(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Tensor]:
        """The counts of `compute_loss_terms` alone, with as little computed as decides them."""

    @abstractmethod
    def compute_detections(self, images: Tensor, sizes: Tensor | None = None) -> Detections:
        """Boxes, scores and classes as tensors, within a compiled function too; `predict` is for images that are at hand. In
        evaluation mode. `sizes` (batch, 2): height and width of what is not padding, to which boxes are cut."""

    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto", **keywords: Any) -> Detections:
        """The boxes, scores and classes that are found in images, as NumPy arrays; the raw outputs are those of `detector(x)`.

        Args:
            x: images of the detector's size, (n, height, width, 3) with pixels from 0 to 255, or anything that gives batches of
                them and that `keras.Model.predict` takes: a `tf.data.Dataset`, a `keras.utils.PyDataset`, a generator.
            batch_size: how many images are computed at once; 32 if none is given.
            verbose, **keywords: as in `keras.Model.predict`.

        Returns:
            Of each image its detections, the best first; unused places have a score of 0 and class -1.
        """
        if isinstance(x, (list, tuple)):
            x = np.asarray(x)
        if isinstance(shape := getattr(x, "shape", None), (list, tuple)):
            self._check_images(shape)
        found = self._inference.model.predict(x, batch_size=batch_size, verbose=verbose, **keywords)
        return Detections(found["boxes"], found["scores"], found["classes"])

    def predict_on_batch(self, x: Any) -> Detections:
        """The same for one batch."""
        self._check_images(np.shape(x))
        found = self._inference.model.predict_on_batch(x)
        return Detections(*(np.asarray(ops.convert_to_numpy(found[key])) for key in Detections._fields))

    def _check_images(self, shape: Any) -> None:
        expected = (*self.settings.image_size, 3)
        if len(shape) != 4 or tuple(shape[1:]) != expected:
            raise InvalidInputError(
                f"predict: expected images of the shape (n, {', '.join(map(str, expected))}), with pixels from 0 to 255. "
                f"Received: shape {tuple(shape)}."
            )

    # --- what Keras offers, and a detector cannot do in that way ---

    def fit(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refused("fit")

    def train_on_batch(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refused("fit", "train_on_batch")

    def evaluate(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refused("evaluate")

    def test_on_batch(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refused("evaluate", "test_on_batch")

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refused("save")

    def export(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refused("export")


class InferenceModel(keras.Model):  # type: ignore[misc]
    """The detector with everything behind its outputs, suppression included, as one model. It is compiled when it is first used:
    whoever detects again and again, as a training does, keeps it."""

    def __init__(self, detector: Detector) -> None:
        super().__init__(name=f"detecting_{detector.name}")
        self.detector = detector
        height, width = detector.settings.image_size
        self.input_shape_px = (height, width, 3)
        self.built = True  # as the detector is: else Keras runs it once, operation by operation, for longer than it compiles

    def call(self, images: Tensor, training: bool | None = None) -> dict[str, Tensor]:
        return self.detector.compute_detections(images)._asdict()


class _LazyInferenceModel:
    """Keras must not take it for a layer of the detector: it holds the detector."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector

    @cached_property
    def model(self) -> InferenceModel:
        return InferenceModel(self._detector)


def _refused(way: str, method: str = "") -> InvalidInputError:
    called = method or way
    return InvalidInputError(
        f"{called}() is not supported on a detector. {INSTEAD[way].replace(f'{way}(x, y)', f'{called}(x, y)')}"
    )
