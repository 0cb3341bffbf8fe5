# Iris with Keras, step by step
import os
import tempfile

os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import pandas as pd
from keras import Input, Sequential
from keras.callbacks import EarlyStopping
from keras.layers import Dense, Dropout
from keras.utils import set_random_seed

set_random_seed(42)

# 1. a CSV file like the well known one
rng = np.random.default_rng(42)
species = ["setosa", "versicolor", "virginica"]
means = {"setosa": [5.0, 3.4, 1.5, 0.2], "versicolor": [5.9, 2.8, 4.3, 1.3], "virginica": [6.6, 3.0, 5.6, 2.0]}
rows = []
for name in species:
    for _ in range(50):
        rows.append([*np.round(rng.normal(means[name], 0.35), 1), name])
columns = ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
csv = os.path.join(tempfile.mkdtemp(), "iris.csv")
pd.DataFrame(rows, columns=columns).sample(frac=1, random_state=0).to_csv(csv, index=False)

# 2. read and encode
data = pd.read_csv(csv)
X = data[columns[:4]].to_numpy("float32")
codes, names = pd.factorize(data["species"], sort=True)
y = codes.astype("int32")
print("classes:", list(names), "counts:", np.bincount(y))

# 3. normalise and split
X = (X - X.mean(axis=0)) / X.std(axis=0)
X_train, X_test = X[:120], X[120:]
y_train, y_test = y[:120], y[120:]

# 4. model
model = Sequential([
    Input(shape=(4,)),
    Dense(16, activation="relu"),
    Dropout(0.1),
    Dense(16, activation="relu"),
    Dense(len(names), activation="softmax"),
])
model.compile(
    optimizer="adam",
    loss="categorical_crossentropy",
    metrics=["accuracy"],
)
model.summary()

# 5. train
stop = EarlyStopping(monitor="val_loss", patience=5, restore_best_weights=True)
history = model.fit(
    X_train, y_train,
    epochs=20, batch_size=16,
    validation_split=0.2,
    callbacks=[stop],
    verbose=0,
)
print("epochs run:", len(history.epoch))
print("test:", model.evaluate(X_test, y_test, verbose=0))
