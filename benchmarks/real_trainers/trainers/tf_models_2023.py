"""tf-models-official of 2023: RetinaNet by Orbit, on Keras 2."""

from __future__ import annotations

from benchmarks.real_trainers import model_garden
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="tf-models-official 2.14.2, RetinaNet by Orbit",
    python="3.11",
    versions="TensorFlow 2.14, Keras 2.14, Python 3.11",
    installs=(
        '"setuptools<81" tensorflow-cpu==2.14.1 "numpy<2" gin-config tensorflow-model-optimization tensorflow-datasets '
        'pycocotools "opencv-python-headless<4.11" pyyaml immutabledict matplotlib pillow six tf-slim psutil py-cpuinfo pandas',
        '--no-deps "tensorflow-hub<0.16" tf-models-official==2.14.2',
    ),
    cases=model_garden.CASES,
    prepare=model_garden.prepare,
)
