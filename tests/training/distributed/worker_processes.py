"""Lives of workers for the tests: N real processes of the trainer on JAX, from their start to their end or to a signal."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from unstall.config.settings import Settings
from unstall.journal.events import TrainingBegan
from unstall.journal.pulse import read_pulse
from unstall.journal.reader import Tail
from unstall.journal.run_folder import RunFolder
from unstall.training.distributed.engines import local

MAX_LIFE_S = 200.0
# Small enough to be compiled in seconds. Norms that learn would see fewer images with more workers: theirs are frozen.
TINY = Settings(
    backend="jax", synthetic_images=24, val_split=0.25, epochs=2, batch_size=4, warmup_steps=3, optimizer="sgd", learning_rate=1e-3,
    ema_decay=0.9, augmentations=("horizontal_flip", "photometric_distort"), eval_interval=1, num_input_workers=1, max_boxes_per_image=10,
    checkpoint_interval_steps=1, tensorboard=False,
    detector={
        "image_size": [64, 64], "stage_convs": [1, 1, 1, 1, 1], "aspect_ratios": [[2.0], [2.0]], "scales": [0.1, 0.3, 0.6], "trainable_backbone_layers": 4,
        "freeze_batch_norm": True,
    },
)  # fmt: skip
COMPILED = Path(tempfile.gettempdir()) / f"unstall-compiled-{os.getpid()}"
atexit.register(shutil.rmtree, COMPILED, ignore_errors=True)
QUIET = {
    "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "jax",
    # What one life has compiled the next need not.
    "JAX_COMPILATION_CACHE_DIR": str(COMPILED),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
}  # fmt: skip


# A process on a machine that has much to do: it is given no time just before its end.
LATE_TO_END = """
import os, time
end = os._exit
def end_late(code):
    time.sleep(1.5)
    end(code)
os._exit = end_late
"""


def live(run: RunFolder, workers: int, asked_at: int | None = None, asked: int = 0, late: int | None = None) -> list[int]:
    """The exit codes. `asked_at`: when worker 0 has done that step of the whole run, worker `asked` gets SIGTERM. Worker `late`
    is kept from running for a moment before it ends."""
    processes = []
    (run.path / "late").mkdir(exist_ok=True)
    (run.path / "late" / "sitecustomize.py").write_text(LATE_TO_END)
    for who in local.build_process_envs({}, workers):
        command = [sys.executable, "-m", "unstall.training", str(run.path), "--quiet"]
        env = {**os.environ, **QUIET, **who.as_environment()}
        if who.rank == late:
            env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(run.path / "late"), os.environ.get("PYTHONPATH"))))
        with (run.path / f"output-{who.rank}.txt").open("ab") as output:
            processes.append(subprocess.Popen(command, stdout=output, stderr=output, env=env))
    try:
        if asked_at is not None:
            wait_for_step(run, processes[0], asked_at)
            processes[asked].send_signal(signal.SIGTERM)
        return [process.wait(MAX_LIFE_S) for process in processes]
    finally:
        for process in processes:
            process.kill()


def wait_for_step(run: RunFolder, first: subprocess.Popen[bytes], step: int) -> None:
    journal, from_step, began = Tail(run.journal_path("probe", first.pid)), None, time.monotonic()
    while first.poll() is None and time.monotonic() - began < MAX_LIFE_S:
        if from_step is None:
            from_step = next((event.from_step for event in journal.read() if isinstance(event, TrainingBegan)), None)
        beat = read_pulse(run.pulse_path(first.pid))
        if from_step is not None and beat is not None and from_step + beat.step >= step:
            return
        time.sleep(0.002)


def output(run: RunFolder) -> str:
    return "\n".join(path.read_text() for path in sorted(Path(run.path).glob("output-*.txt")))
