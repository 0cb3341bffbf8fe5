"""What is told of programs that an error ended: real ones, with the frameworks' own wrappings around the error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.real_programs import ended


@pytest.mark.tensorflow
def test_an_error_inside_tensorflow_is_told_by_its_innermost_sentence_and_line(tmp_path: Path) -> None:
    story = ended(
        tmp_path,
        "import tensorflow as tf\n\n\ndef parse(number):\n    return tf.ensure_shape(number, (3,))\n\n\n"
        "tf.data.Dataset.range(3).map(parse)\n",
    )
    verdict = story["verdicts"][0]
    assert (verdict["cause"], verdict["where"]) == ("program_error", "train.py:5")
    assert verdict["summary"].startswith("ValueError: Shape must be rank 1 but is rank 0")
    assert verdict["summary"].endswith("It was raised at train.py:5 in parse.")
    assert story["failure"]["text"].startswith("in user code:")


@pytest.mark.torch
def test_an_error_of_a_worker_process_is_told_as_it_was_raised_there(tmp_path: Path) -> None:
    story = ended(
        tmp_path,
        """\
import torch


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, number):
        if number == 5:
            raise LookupError("row 5 has no label")
        return torch.zeros(3)


if __name__ == "__main__":
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=1):
        pass
""",
    )
    verdict = story["verdicts"][0]
    assert (verdict["cause"], verdict["where"]) == ("program_error", "train.py:10")
    said = (
        "LookupError: row 5 has no label. The program itself raised it at train.py:10 in __getitem__ while element 5 was handled."
    )
    assert verdict["summary"] == said


PICTURES = """\
import numpy as np
from PIL import Image

for number in range(60):
    Image.fromarray(np.random.randint(0, 255, (32, 32, 3), "uint8")).save(f"{number:02d}.jpg")
with open("17.jpg", "r+b") as file:
    file.truncate(900)
pictures = []
for number in range(60):
    path = f"{number:02d}.jpg"
    pictures.append(Image.open(path))
"""


def test_of_sixty_pictures_the_one_is_named_that_was_being_read(tmp_path: Path) -> None:
    story = ended(tmp_path, PICTURES + "rows = [np.asarray(picture) for picture in pictures]\n")
    verdict = story["verdicts"][0]
    assert verdict["cause"] == "record_corrupt"
    assert f"in {tmp_path}/17.jpg:" in verdict["summary"]
    assert "step" not in verdict["summary"]


@pytest.mark.tensorflow
def test_of_sixty_pictures_the_one_that_is_cut_off_is_named_where_tensorflow_does_not_say_which(tmp_path: Path) -> None:
    """Not the last of them, which the variable that the program has left over holds. The step and the line are those that were seen."""
    story = ended(
        tmp_path,
        PICTURES
        + """\
import keras
import tensorflow as tf


def read(name):
    image = tf.io.decode_jpeg(tf.io.read_file(name))
    return tf.reshape(tf.cast(image, tf.float32), (3072,)) / 255.0, 0.0


names = [f"{number:02d}.jpg" for number in range(60)]
dataset = tf.data.Dataset.from_tensor_slices(names).map(read).batch(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(1e-4), "mse")
model.fit(dataset, verbose=0)
""",
    )
    verdict = story["verdicts"][0]
    assert verdict["cause"] == "record_corrupt"
    assert f"in {tmp_path}/17.jpg: an image is damaged or cut off." in verdict["summary"]
    assert verdict["summary"].endswith("17 steps had ended by then.")
    assert story["progress"]["step"] == 16
    assert verdict["where"] == "train.py:22"  # the stage that decodes


@pytest.mark.tensorflow
def test_the_line_is_named_that_reads_and_not_that_of_fit(tmp_path: Path) -> None:
    story = ended(
        tmp_path,
        """\
import gzip

import keras
import numpy as np
import tensorflow as tf


def rows():
    for number in range(30):
        if number == 20:
            gzip.decompress(b"not a compressed row")
        yield np.zeros(4, "float32"), 0.0


dataset = tf.data.Dataset.from_generator(rows, output_signature=(tf.TensorSpec((4,)), tf.TensorSpec(()))).batch(2)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(dataset, verbose=0)
""",
    )
    verdict = story["verdicts"][0]
    assert (verdict["cause"], verdict["where"]) == ("record_corrupt", "train.py:11")
    assert verdict["summary"].endswith("10 steps had ended by then.")
    assert "BadGzipFile" in verdict["evidence"][0]["claim"]


BINARY = """\
import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.random.normal(size=(320, 8)).astype("float32")
y = (x[:, :1] > 0).astype("float32")
BROKEN
model = keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(1, "ACTIVATION")])
model.compile("adam", "binary_crossentropy")


def batches():
    while True:
        for first in range(0, 320, 32):
            yield x[first : first + 32], y[first : first + 32]


model.fit(batches(), steps_per_epoch=10, epochs=2, verbose=0)
"""


@pytest.mark.torch
def test_a_loss_that_refuses_its_numbers_is_told_by_the_batch_it_was_given(tmp_path: Path) -> None:
    program = BINARY.replace("BROKEN", 'x[70, 2] = float("nan")').replace("ACTIVATION", "sigmoid")
    story = ended(tmp_path, program)
    assert story["failure"]["message"] == "all elements of input should be between 0 and 1"
    verdict = story["verdicts"][0]
    assert verdict["cause"] == "loss_not_finite"
    assert "The inputs of the batch hold numbers which are not finite (1 of 256, first in row 6)" in verdict["summary"]
    labels = BINARY.replace("BROKEN", 'y[70] = float("nan")').replace("ACTIVATION", "sigmoid")
    verdict = ended(tmp_path, labels)["verdicts"][0]
    assert verdict["cause"] == "labels_invalid"
    assert "The labels of the batch hold numbers which are not finite (1 of 32, first in row 6)" in verdict["summary"]


@pytest.mark.torch
def test_no_nan_is_blamed_where_the_numbers_are_finite(tmp_path: Path) -> None:
    """The same words of the same loss, for outputs that a layer without a sigmoid gives in a loop of one's own."""
    story = ended(
        tmp_path,
        """\
import torch

rows = torch.randn(64, 8)
labels = (rows[:, :1] > 0).float()
model = torch.nn.Linear(8, 1)
loss = torch.nn.functional.binary_cross_entropy(model(rows), labels)
""",
    )
    assert story["failure"]["message"] == "all elements of input should be between 0 and 1"
    assert [verdict["cause"] for verdict in story["verdicts"]] == ["program_error"]


@pytest.mark.torch
def test_in_a_loop_of_ones_own_the_variable_is_named_that_holds_them(tmp_path: Path) -> None:
    story = ended(
        tmp_path,
        """\
import torch

rows = torch.randn(64, 8)
labels = (rows[:, :1] > 0).float()
rows[9, 1] = float("inf")
model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Softmax(1), torch.nn.Linear(4, 1), torch.nn.Sigmoid())
loss = torch.nn.functional.binary_cross_entropy(model(rows), labels)
""",
    )
    verdict = story["verdicts"][0]
    assert (verdict["cause"], verdict["where"]) == ("loss_not_finite", "train.py:7")
    assert "`rows` in the line that failed holds numbers which are not finite (1 of 512, first in row 9)" in verdict["summary"]
