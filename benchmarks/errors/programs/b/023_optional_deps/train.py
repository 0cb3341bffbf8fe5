"""Logistic regression with whatever extras happen to be installed."""
import importlib
import sys

import numpy as np
import torch

try:
    import wandb_not_here as wandb
except ImportError:
    wandb = None

try:
    from apex.optimizers import FusedAdam as Adam
except ModuleNotFoundError as err:
    print(f"apex not available ({err}), using torch.optim", file=sys.stderr)
    from torch.optim import Adam


def find_backend(*names):
    problems = []
    for name in names:
        try:
            return importlib.import_module(name), problems
        except ImportError as err:
            problems.append(f"{name}: {err}")
    raise RuntimeError("no plotting backend: " + "; ".join(problems))


def progress(iterable):
    try:
        from fancy_progress_bars import bar
    except ImportError:
        return iterable
    return bar(iterable)


def amp_context():
    try:
        torch.zeros(1, device="cuda")
    except (RuntimeError, AssertionError) as err:
        print("no GPU:", str(err).splitlines()[0])
        return torch.autocast("cpu", enabled=False)
    return torch.autocast("cuda")


def main():
    torch.manual_seed(0)
    plot, problems = find_backend("bokeh_lite", "plotly_mini", "json")
    print("backend", plot.__name__, "after", problems)
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(400, 5)), dtype=torch.float32)
    y = (x.sum(1) > 0).float()
    w = torch.zeros(5, requires_grad=True)
    optimizer = Adam([w], lr=0.1)
    history = []
    with amp_context():
        for epoch in progress(range(20)):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ w, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append(round(loss.item(), 4))
            if wandb is not None:
                wandb.log({"loss": history[-1]})
    print(history[::5])


if __name__ == "__main__":
    main()
