"""Online perceptron over a log stream; stops reading once it is good enough."""
import os
import tempfile

import numpy as np


def write_log(path, n=5000):
    rng = np.random.default_rng(0)
    with open(path, "w") as f:
        for i in range(n):
            x = rng.normal(size=3)
            y = int(x @ [1.0, -2.0, 0.5] > 0)
            f.write(f"{y};{x[0]:.4f};{x[1]:.4f};{x[2]:.4f}\n" if i % 97 else f"# rotated {i}\n")


def lines(path):
    f = open(path)
    try:
        yield from f
        print("log read to its end")
    except GeneratorExit:
        print("reader closed early")
        raise
    finally:
        f.close()


def examples(path, bad):
    for line in lines(path):
        try:
            y, *x = line.split(";")
            yield np.array([float(v) for v in x]), int(y)
        except ValueError as err:
            bad.append(str(err))


def batches(source, size):
    while True:
        xs, ys = [], []
        for _ in range(size):
            try:
                x, y = next(source)
            except StopIteration:
                return
            xs.append(x)
            ys.append(y)
        yield np.stack(xs), np.array(ys)


def train(path, wanted):
    w, bad = np.zeros(3), []
    stream = examples(path, bad)
    for n, (x, y) in enumerate(batches(stream, 50)):
        accuracy = np.mean((x @ w > 0) == y)
        if accuracy >= wanted:
            stream.close()
            print(f"stopped after {n} batches at {accuracy:.2f}")
            break
        w += 0.1 * ((y - (x @ w > 0)) @ x)
    return w, bad


with tempfile.TemporaryDirectory() as folder:
    log = os.path.join(folder, "events.log")
    write_log(log)
    for wanted in (0.95, 1.01):
        w, bad = train(log, wanted)
        print("weights", w.round(2), "bad lines", len(bad), bad[:1])
