"""The TF Object Detection API on TensorFlow 2.4.1, as the package tf-models-research-object-detection 2.5 has it."""

from __future__ import annotations

from functools import partial

from benchmarks.real_trainers import object_detection_api
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="TF Object Detection API (tf-models-research-object-detection 2.5.0), SSD MobileNet V2 FPNLite",
    python="3.8",
    versions="TensorFlow 2.4.1, Python 3.8",
    installs=(
        'tensorflow-cpu==2.4.1 "protobuf<3.20" "numpy<1.20" "pillow<10" lxml "matplotlib<3.5" Cython contextlib2 '
        'tf-slim==1.1.0 six "pandas<1.3" "scipy<1.8" "opencv-python-headless<4.6" pycocotools==2.0.7 pyyaml',
        "--no-deps lvis keras==2.4.3 gin-config typeguard==2.13.3 tensorflow-addons==0.13.0",
        "--no-deps tf-models-official==2.5.0 tf-models-research-object-detection==2.5.0.post2",
    ),
    cases=object_detection_api.CASES,
    prepare=partial(object_detection_api.prepare, "tf_models_research_object_detection"),
)
