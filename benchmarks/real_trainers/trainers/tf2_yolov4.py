"""tf2-yolov4: YOLOv4 in a program of one's own, `fit` on a tf.data set, with TensorFlow 2.6."""

from __future__ import annotations

from functools import partial

from benchmarks.real_trainers.classification import CASES
from benchmarks.real_trainers.trainer import Trainer
from benchmarks.real_trainers.trainers.keras_hub_jax import prepare

TRAINER = Trainer(
    name="tf2-yolov4 0.1, YOLOv4",
    python="3.9",
    versions="TensorFlow 2.6.5, Keras 2.6, Python 3.9",
    installs=(
        '"pip<24.1" wheel "setuptools<66"',
        'tensorflow-cpu==2.6.5 protobuf==3.19.6 "numpy<1.20" tensorflow-addons==0.14.0 "click<9" "pillow<10" tf2-yolov4==0.1.0',
    ),
    cases=CASES,
    prepare=partial(prepare, "tf2_yolov4_train", {}),
)
