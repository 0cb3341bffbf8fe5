import os

os.environ["KERAS_BACKEND"] = "torch"

import tempfile

import keras
import numpy as np

from text import build_vocab, encode, read_reviews, write_reviews


def build_classifier(vocab_size, dim=24):
    return keras.Sequential([
        keras.layers.Embedding(vocab_size, dim),
        keras.layers.Conv1D(32, 3, padding="same", activation="relu"),
        keras.layers.GlobalMaxPooling1D(),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(1),
    ])


def main():
    keras.utils.set_random_seed(4)
    path = os.path.join(tempfile.mkdtemp(), "reviews.tsv")
    write_reviews(path)
    texts, labels = read_reviews(path)
    cut = 320
    vocab = build_vocab(texts[:cut])
    x_train, x_test = encode(texts[:cut], vocab), encode(texts[cut:], vocab)
    y_train, y_test = labels[:cut], labels[cut:]
    print(len(vocab), "words; longest review", max(map(len, texts)))

    model = build_classifier(len(vocab))
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
    )
    model.fit(x_train, y_train, epochs=3, batch_size=32, validation_data=(x_test, y_test), verbose=2)
    probs = keras.ops.sigmoid(model.predict(x_test, verbose=0))
    print("mean positive probability:", float(np.mean(keras.ops.convert_to_numpy(probs))))


if __name__ == "__main__":
    main()
