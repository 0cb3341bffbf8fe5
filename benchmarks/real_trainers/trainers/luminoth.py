"""Luminoth: `lumi train` of Faster R-CNN on TensorFlow 1.15, with queue runners and a monitored session.

It wants weights for its base network, which it would fetch: it is given random ones. Its reader leaves out objects of a class
that it does not know, so the network is given too few classes.
"""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path

from benchmarks.real_trainers import pictures
from benchmarks.real_trainers.trainer import Case, Trainer
from unstall.data.io import tfrecord_file

SLOW_S = 300.0  # of these, the graph takes one or two minutes
_JPEG_STARTS = b"\xff\xd8\xff"
_CONFIG = """
train:
  job_dir: JOBS
  num_epochs: EPOCHS
  display_every_secs: 100000
  learning_rate:
    decay_method:
    learning_rate: RATE
dataset:
  type: object_detection
  dir: RECORDS
  image_preprocessing:
    min_size: 128
    max_size: 128
model:
  type: fasterrcnn
  network:
    num_classes: CLASSES
  base_network:
    architecture: resnet_v1_50
    use_tail: False
    train_batch_norm: True
    fine_tune_from:
  anchors:
    base_size: 64
"""
_RANDOM_WEIGHTS = """
import tensorflow as tf
from tensorflow.contrib import slim
from tensorflow.contrib.slim.nets import resnet_utils, resnet_v1
with slim.arg_scope(resnet_utils.resnet_arg_scope()):
    resnet_v1.resnet_v1_50(tf.zeros((1, 128, 128, 3)), global_pool=False)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    saver = tf.train.Saver(tf.global_variables(), write_version=tf.train.SaverDef.V1)
    saver.save(session, "resnet_v1_50.ckpt", write_meta_graph=False)
"""


def prepare(folder: Path, fault: str, python: str) -> Case:
    records, lumi = folder / "records", [python, str(Path(python).parent / "lumi")]
    environ = {**os.environ, "LUMI_HOME": str(_home(python)), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    _write_csv(folder / "plain", fault)
    transform = ["dataset", "transform", "--type", "csv", "--data-dir", "plain", "--output-dir", "records", "--split", "train"]
    subprocess.run([*lumi, *transform], cwd=folder, env=environ, check=True, capture_output=True)
    record, where, rate, classes, epochs = records / "train.tfrecords", "", "0.0003", "6", "1"
    if fault == "input_blocked":
        pictures.block(record)
        where = record.name
    elif fault == "image_corrupt":
        _damage_image(record)
        where = rf"{record.name}|luminoth/\S+\.py:\d+"
    elif fault == "record_corrupt":
        plain = bytearray(record.read_bytes())
        middle = len(plain) // 2
        plain[middle : middle + 64] = os.urandom(64)
        record.write_bytes(plain)
        where = record.name
    elif fault == "pattern_empty":
        records.rename(folder / "record")
        where = r"records|config\.yml:\d+"
    elif fault == "learning_rate":
        rate = "1000000.0"
    elif fault == "label_unknown":
        classes, where = "3", r"config\.yml:\d+"
    if fault in {"killed", "input_slow"}:
        epochs = "1000"
    text = _CONFIG
    for key, value in {"JOBS": folder / "jobs", "EPOCHS": epochs, "RATE": rate, "RECORDS": records, "CLASSES": classes}.items():
        text = text.replace(key, str(value))
    (folder / "config.yml").write_text(text)
    given = {key: environ[key] for key in ("LUMI_HOME", "TF_CPP_MIN_LOG_LEVEL")}
    given["PYTHONWARNINGS"] = "ignore"
    command = [*lumi, "train", "-c", "config.yml"]
    return Case(command, where, environ=given, prints=r"train_loss: \d", seconds=SLOW_S if fault == "input_slow" else 0.0)


def _home(python: str) -> Path:
    """Where it looks for the weights of its base networks; they are made once, beside its environment."""
    home = Path(python).parents[1] / "luminoth"
    if not (home / "made").exists():
        home.mkdir(exist_ok=True)
        subprocess.run([python, "-c", _RANDOM_WEIGHTS], cwd=home, check=True, capture_output=True)
        (home / "made").touch()
    return home


def _write_csv(plain: Path, fault: str) -> None:
    """A folder of images and a table of boxes, as Luminoth's reader wants them."""
    pictures.write_shapes(plain / "shapes")
    found, _ = pictures.read_coco(plain / "shapes")
    with_boxes = [picture for picture in found if picture.boxes]
    if fault == "input_slow":
        pictures.spoil(with_boxes, fault)
    scale = pictures.SLOW_SIDE_PX / 160 if fault == "input_slow" else 1.0
    (plain / "train").mkdir()
    with (plain / "train.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image_id", "xmin", "ymin", "xmax", "ymax", "label"])
        for path, boxes in with_boxes:
            path.rename(plain / "train" / path.name)
            table.writerows([path.name, *(int(number * scale) for number in box[:4]), box[4]] for box in boxes)


def _damage_image(path: Path) -> None:
    """The image of the record in the middle can no longer be decoded."""
    records = [found.data for found in tfrecord_file.read(path) if isinstance(found, tfrecord_file.Record)]
    middle = len(records) // 2
    at = records[middle].index(_JPEG_STARTS)
    records[middle] = records[middle][: at + 3] + bytes(400) + records[middle][at + 403 :]
    with path.open("wb") as file:
        for record in records:
            tfrecord_file.write(file, record)


TRAINER = Trainer(
    name="Luminoth 0.2, Faster R-CNN",
    python="3.7",
    versions="TensorFlow 1.15.5, Python 3.7",
    installs=(
        '"pip<24.1" wheel "setuptools<58"',
        'tensorflow==1.15.5 numpy==1.18.5 h5py==2.10.0 protobuf==3.20.3 "pillow<10" lxml requests'
        ' "PyYAML<4,>=3.12" "click<7" easydict==1.7 six "Flask<2" "MarkupSafe<2.1" "Jinja2<3" "itsdangerous<2.1" "Werkzeug<2"',
        '--no-deps dm-sonnet==1.23 luminoth==0.2.3 tensorflow-probability==0.8.0 "cloudpickle<1.2" decorator contextlib2'
        " scikit-video scipy==1.4.1",
    ),
    cases=(
        "healthy",
        "input_blocked",
        "input_slow",
        "learning_rate",
        "image_corrupt",
        "record_corrupt",
        "label_unknown",
        "pattern_empty",
        "killed",
    ),
    prepare=prepare,
)
