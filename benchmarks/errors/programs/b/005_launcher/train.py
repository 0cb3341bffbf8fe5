"""Train, and ask the evaluation script after each round whether to go on."""
import json
import logging
import os
import random
import subprocess
import sys
import tempfile

logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
HERE = os.path.dirname(os.path.abspath(__file__))
TRUE = (1.0, -2.0, 0.5)


def sgd(weights, steps, rng, lr=0.02):
    for _ in range(steps):
        x = [rng.gauss(0, 1) for _ in weights]
        gap = sum((w - t) * v for w, t, v in zip(weights, TRUE, x)) + rng.gauss(0, 0.05)
        weights = [w - lr * gap * v for w, v in zip(weights, x)]
    return weights


def gate(path):
    command = [sys.executable, os.path.join(HERE, "evaluate.py"), path]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    rng = random.Random(0)
    weights = [0.0, 0.0, 0.0]
    try:
        subprocess.run(["nvidia-smi-none", "-L"], check=True)
    except FileNotFoundError:
        logging.info("no accelerator tools on this machine")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.json")
        for attempt in range(20):
            try:
                result = gate(path)
            except subprocess.CalledProcessError as err:
                logging.exception("round %d did not pass (exit code %d)", attempt, err.returncode)
                logging.info("evaluation said: %s", err.stderr.strip().splitlines()[-1])
            else:
                print("passed after", attempt, "rounds:", result)
                sys.exit(0)
            weights = sgd(weights, 30, rng)
            with open(path, "w") as f:
                json.dump(weights, f)
    sys.exit("gave up")


if __name__ == "__main__":
    main()
