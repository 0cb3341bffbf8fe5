"""The TF Object Detection API on TensorFlow 2.12, as the package tf-models-research-object-detection 2.8 has it."""

from __future__ import annotations

from functools import partial

from benchmarks.real_trainers import object_detection_api
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="TF Object Detection API (tf-models-research-object-detection 2.8.0), SSD MobileNet V2 FPNLite",
    python="3.10",
    versions="TensorFlow 2.12.1, Python 3.10",
    installs=(
        '"setuptools<66" tensorflow-cpu==2.12.1 "protobuf<3.21" "numpy<1.24" "pillow<10" lxml "matplotlib<3.8" Cython '
        'contextlib2 tf-slim==1.1.0 six "pandas<2.1" "scipy<1.11" "opencv-python-headless<4.8" pycocotools==2.0.7 pyyaml',
        "--no-deps lvis tf-models-research-object-detection==2.8.0.post1",
    ),
    cases=object_detection_api.CASES,
    prepare=partial(object_detection_api.prepare, "object_detection"),
)
