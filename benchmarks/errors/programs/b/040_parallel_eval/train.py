"""Random search over ridge models; a trial that fails is a result, too."""
import concurrent.futures
import random
import traceback

import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 12))
X[:, 11] = X[:, 10]
Y = X[:, 0] * 2 - X[:, 3] + rng.normal(0, 0.1, 200)


def fit(features, alpha):
    a = X[:150, features]
    gram = a.T @ a + alpha * np.eye(len(features))
    w = np.linalg.inv(gram) @ a.T @ Y[:150]
    if not np.all(np.isfinite(w)):
        raise FloatingPointError("weights are not finite")
    return w


def trial(spec):
    features, alpha = spec
    if alpha < 0:
        raise ValueError(f"alpha must not be negative, got {alpha}")
    w = fit(features, alpha)
    return float(np.mean((X[150:, features] @ w - Y[150:]) ** 2))


def specs(n):
    r = random.Random(1)
    yield [10, 99], 0.1
    yield [0, 3], -1.0
    yield [], 0.0
    for _ in range(n):
        yield sorted(r.sample(range(12), r.randint(2, 8))), r.choice([0.0, 0.1, 1.0])


def main():
    scores, failed = {}, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {pool.submit(trial, s): s for s in specs(12)}
        for job in concurrent.futures.as_completed(jobs):
            try:
                scores[str(jobs[job])] = job.result()
            except Exception:
                failed += 1
                print("trial", jobs[job], "failed")
                traceback.print_exc()
    best = min(scores, key=scores.get)
    print(f"{len(scores)} trials, {failed} failed, best {best}: {scores[best]:.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
