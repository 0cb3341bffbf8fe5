"""Credit scoring on records that have to pass a schema first."""
import collections
import math
import random

from schema import ValidationError, check


def records(n, seed):
    rng = random.Random(seed)
    for i in range(n):
        age, income = rng.randint(18, 80), rng.uniform(5e3, 9e4)
        row = {"age": age, "income": income, "defaulted": int(rng.random() < 1 / (1 + math.exp((income - 3e4) / 1e4)))}
        if i % 40 == 3:
            row["age"] = "n/a"
        elif i % 40 == 17:
            del row["income"]
        elif i % 40 == 29:
            row["age"] = 999
        yield row


def self_test():
    """The schema must refuse these, or we do not start."""
    for broken in ({}, {"age": -1, "income": 1.0, "defaulted": 0}, {"age": 30, "income": None, "defaulted": 0}):
        try:
            check(broken)
        except ValidationError as err:
            print("refused as expected:", err)
        else:
            raise AssertionError(f"accepted {broken}")


def sigmoid(z):
    try:
        return 1 / (1 + math.exp(-z))
    except OverflowError:
        return 0.0


def main():
    self_test()
    rows, rejected = [], collections.Counter()
    for record in records(800, seed=0):
        try:
            rows.append(check(record))
        except ValidationError as err:
            rejected[err.field] += 1
    print(len(rows), "rows,", dict(rejected), "rejected")

    w, b = [0.0, 0.0], -2000.0
    for epoch in range(30):
        loss = 0.0
        for r in rows:
            x = (r["age"] / 80, r["income"] / 9e4)
            p = sigmoid(sum(wi * xi for wi, xi in zip(w, x)) + b)
            gap = p - r["defaulted"]
            w = [wi - 0.1 * gap * xi for wi, xi in zip(w, x)]
            b = max(b - 0.1 * gap, -4.0)
            loss += gap * gap
        if epoch % 10 == 0:
            print(f"epoch {epoch} brier {loss / len(rows):.4f}")


if __name__ == "__main__":
    main()
