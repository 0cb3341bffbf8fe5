# /// specimen
# cause = "python_in_pipeline"
# also = ["input_starved"]
# where = "PYTHON HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "py_function_cheap"
# needs = []
# ///
"""Sentences are tokenised by pure Python inside tf.py_function. Four parallel calls are asked for; the GIL allows one."""

import os
import random
import re
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

VOCABULARY = 512
WORD = re.compile(r"[a-z]+")


def make_sentences(count: int) -> list[str]:
    letters = random.Random(4)
    words = ["".join(letters.choices("abcdefghij", k=letters.randint(2, 8))) for _ in range(400)]
    return [" ".join(letters.choices(words, k=220)) for _ in range(count)]


def bag_of_words(sentence):
    counts = [0.0] * VOCABULARY
    for word in WORD.findall(sentence.numpy().decode()):  # PYTHON HERE
        code = 0
        for letter in word:  # PYTHON HERE
            code = (code * 31 + ord(letter)) % 1000003  # PYTHON HERE
        counts[code % VOCABULARY] += 1.0
    return np.array(counts, dtype=np.float32)


def encode(sentence, label):
    counts = tf.py_function(bag_of_words, [sentence], tf.float32)
    counts.set_shape([VOCABULARY])
    return counts, label


def main() -> None:
    sentences = make_sentences(400)
    labels = [len(sentence) % 2 for sentence in sentences]
    dataset = tf.data.Dataset.from_tensor_slices((sentences, labels)).repeat()
    dataset = dataset.map(encode, num_parallel_calls=4).batch(512).prefetch(2)  # PYTHON HERE
    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    mark()
    model.fit(dataset, steps_per_epoch=40, epochs=3, verbose=2)


if __name__ == "__main__":
    main()
