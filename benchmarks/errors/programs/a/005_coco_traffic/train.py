import logging
import tempfile

from tensorflow import keras
from tensorflow.keras import layers

from dataset import CocoCrops, create_coco

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("roi_head")


def roi_classifier(num_classes):
    return keras.Sequential([
        layers.Input((32, 32, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(num_classes),
    ])


def run():
    annotation_file = create_coco(tempfile.mkdtemp(prefix="coco_"))
    crops = CocoCrops(annotation_file)
    log.info("classes: %d, annotations: %d", crops.num_classes, len(crops.coco["annotations"]))
    model = roi_classifier(crops.num_classes)
    model.compile(
        optimizer=keras.optimizers.SGD(0.01, momentum=0.9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(crops.tf_dataset(16), epochs=2)
    log.info("final loss %.3f", history.history["loss"][-1])


if __name__ == "__main__":
    run()
