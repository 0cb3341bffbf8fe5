import numpy as np


def load_series(n=900, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    return (np.sin(t / 12) + 0.3 * np.sin(t / 50) + rng.normal(0, 0.05, n)).astype("float32")


def scale(series, upto):
    lo, hi = series[:upto].min(), series[:upto].max()
    return (series - lo) / (hi - lo)


def sliding(series, lookback, horizon):
    """Past `lookback` values -> value `horizon` steps later."""
    inputs, answers = [], []
    for start in range(len(series) - lookback):
        inputs.append(series[start : start + lookback])
    for end in range(lookback + horizon - 1, len(series)):
        answers.append(series[end])
    return np.asarray(inputs)[..., None], np.asarray(answers)
