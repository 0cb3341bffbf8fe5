"""Customer churn: CSV -> one-hot columns -> small dense network."""
import os
import tempfile

import numpy as np
import pandas as pd
from tensorflow import keras
from tensorflow.keras import layers

WORK = tempfile.mkdtemp(prefix="churn_")
CSV = os.path.join(WORK, "customers.csv")


def export_customers(n=600):
    rng = np.random.default_rng(11)
    tenure = rng.integers(1, 72, n)
    charges = rng.normal(65, 20, n).clip(18).round(2)
    contract = rng.choice(["month", "one_year", "two_year"], n, p=[0.55, 0.25, 0.2])
    payment = rng.choice(["card", "bank", "check"], n)
    score = 0.03 * charges - 0.05 * tenure + (contract == "month") * 1.2
    churn = (score + rng.normal(0, 1, n) > 0.8).astype(int)
    pd.DataFrame({"tenure": tenure, "charges": charges, "contract": contract,
                  "payment": payment, "churn": churn}).to_csv(CSV, index=False)


export_customers()
df = pd.read_csv(CSV)
print(df.describe())

target = df.pop("churn")
df["charges"] = (df["charges"] - df["charges"].mean()) / df["charges"].std()
df["tenure"] = df["tenure"] / 72
df = pd.get_dummies(df, columns=["contract", "payment"])
print(df.columns.tolist())

split = int(len(df) * 0.8)
X_train, X_test = df.values[:split], df.values[split:]
y_train, y_test = target.values[:split], target.values[split:]

model = keras.Sequential([
    layers.Input(shape=(X_train.shape[1],)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, validation_split=0.1, epochs=5, batch_size=32)
print("test accuracy", model.evaluate(X_test, y_test, verbose=0)[1])
