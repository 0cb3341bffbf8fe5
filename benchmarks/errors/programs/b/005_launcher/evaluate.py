import json
import sys


def main():
    if len(sys.argv) != 2:
        print("usage: evaluate.py WEIGHTS", file=sys.stderr)
        sys.exit(2)
    with open(sys.argv[1]) as f:
        weights = json.load(f)
    error = sum((w - t) ** 2 for w, t in zip(weights, (1.0, -2.0, 0.5)))
    if error > 0.05:
        raise SystemExit(f"quality gate: error {error:.3f} is above 0.05")
    print(json.dumps({"error": round(error, 5)}))


if __name__ == "__main__":
    main()
