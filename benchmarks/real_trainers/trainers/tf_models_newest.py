"""The newest tf-models-official: RetinaNet by Orbit, on tf_keras."""

from __future__ import annotations

from benchmarks.real_trainers import model_garden
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="tf-models-official 2.20.0, RetinaNet by Orbit",
    python="3.11",
    versions="TensorFlow 2.20, tf_keras 2.20, Python 3.11",
    installs=(
        '"setuptools<81" tensorflow-cpu==2.20.0 tf-keras==2.20.1 gin-config tensorflow-model-optimization tensorflow-datasets '
        "pycocotools opencv-python-headless pyyaml immutabledict matplotlib pillow six tf-slim psutil py-cpuinfo pandas",
        "--no-deps tensorflow-hub tf-models-official==2.20.0",
    ),
    cases=model_garden.CASES,
    prepare=model_garden.prepare,
)
