"""Training that may be interrupted at any time and picks up where it was."""
import os
import signal
import sys
import tempfile
import threading

import torch
from torch import nn


class Job:
    def __init__(self, path):
        torch.manual_seed(0)
        self.path = path
        self.model = nn.Linear(10, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.step = 0
        try:
            saved = torch.load(path)
        except FileNotFoundError:
            print("fresh start")
        else:
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.step = saved["step"]
            print("resumed at step", self.step)

    def save(self):
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step}
        torch.save(state, self.path + ".part")
        os.replace(self.path + ".part", self.path)

    def run(self, steps):
        g = torch.Generator().manual_seed(self.step)
        try:
            while self.step < steps:
                x = torch.randn(64, 10, generator=g)
                loss = nn.functional.mse_loss(self.model(x), x.sum(1, keepdim=True))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.step += 1
        except KeyboardInterrupt:
            print(f"interrupted at step {self.step}, saving", file=sys.stderr)
            return False
        finally:
            self.save()
        print(f"finished, loss {loss.item():.6f}")
        return True


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.pt")
        job = Job(path)
        timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        finished = job.run(steps=10_000_000)
        timer.join()
        again = Job(path)
        assert not finished and again.step == job.step
        again.run(again.step + 200)


if __name__ == "__main__":
    main()
