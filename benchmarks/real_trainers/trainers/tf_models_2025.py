"""tf-models-official of 2025: RetinaNet by Orbit, on tf-keras."""

from __future__ import annotations

from benchmarks.real_trainers import model_garden
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="tf-models-official 2.20, RetinaNet by Orbit",
    python="3.12",
    versions="TensorFlow 2.20, tf-keras 2.20, Python 3.12",
    installs=(
        '"setuptools<81" tensorflow-cpu==2.20.0 tf-keras==2.20.1 gin-config==0.5.0 tensorflow-model-optimization==0.8.1 '
        "tensorflow-datasets==4.9.10 tensorflow-hub==0.16.1 pycocotools opencv-python-headless pyyaml immutabledict matplotlib "
        "pillow six tf-slim psutil py-cpuinfo pandas scipy sentencepiece",
        "--no-deps tf-models-official==2.20.0",
    ),
    cases=model_garden.CASES,
    prepare=model_garden.prepare,
)
