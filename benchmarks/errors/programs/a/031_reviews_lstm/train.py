'''Sentiment of movie reviews with an LSTM (after the imdb_lstm example).'''
import json
import os
import tempfile

import numpy as np
import keras
from keras.layers import Dense, Embedding, LSTM
from keras.models import Sequential
from keras.utils import pad_sequences

max_features = 200
maxlen = 30
batch_size = 32

GOOD = "great superb moving funny warm clever".split()
BAD = "dull weak tired silly cold clumsy".split()
FILLER = "the film plot actor scene was with and a very story".split()


def write_reviews(path, n=400):
    rng = np.random.default_rng(7)
    with open(path, "w") as f:
        for i in range(n):
            words = list(rng.choice(FILLER, rng.integers(6, 25)))
            words += list(rng.choice(GOOD if i % 2 else BAD, 3))
            rng.shuffle(words)
            f.write(json.dumps({"text": " ".join(words), "label": i % 2}) + "\n")


def load_reviews(path):
    rows = [json.loads(line) for line in open(path)]
    vocabulary = sorted({w for r in rows for w in r["text"].split()})
    word_index = {w: i + 1 for i, w in enumerate(vocabulary)}
    X = [[word_index[w] for w in r["text"].split()] for r in rows]
    return pad_sequences(X, maxlen=maxlen), np.array([r["label"] for r in rows])


path = os.path.join(tempfile.mkdtemp(prefix="reviews_"), "reviews.jsonl")
write_reviews(path)
print("Loading data...")
x, y = load_reviews(path)
x_train, y_train, x_test, y_test = x[:320], y[:320], x[320:], y[320:]
print(len(x_train), "train sequences")

print("Build model...")
model = Sequential()
model.add(Embedding(max_features, 16))
model.add(LSTM(16, dropout=0.2, recurrent_dropout=0.2))
model.add(Dense(1, activation="sigmoid"))

opt = keras.optimizers.Adam(lr=1e-3, decay=1e-5)
model.compile(loss="binary_crossentropy", optimizer=opt, metrics=["accuracy"])

print("Train...")
model.fit(x_train, y_train, batch_size=batch_size, epochs=2, validation_data=(x_test, y_test))
score, acc = model.evaluate(x_test, y_test, batch_size=batch_size)
print("Test accuracy:", acc)
