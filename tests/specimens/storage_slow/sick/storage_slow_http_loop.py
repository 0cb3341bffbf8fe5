# /// specimen
# cause = "storage_slow"
# also = ["input_starved"]
# where = "SLOW HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "steady_disk_prefetch"
# needs = []
# ///
"""Shards are fetched from a store over HTTP that sends 1 MB a second; the loop spends its time in recv."""

import ctypes
import http.server
import multiprocessing
import signal
import socket
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

SHARD_ROWS = 256
WIDTH = 256


class SlowStore(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        rows = np.random.default_rng(int(self.path.rsplit("/", 1)[-1])).normal(size=(SHARD_ROWS, WIDTH))
        body = rows.astype("float32").tobytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body), 16384):
            self.wfile.write(body[start : start + 16384])
            time.sleep(0.016)

    def log_message(self, *arguments: object) -> None:
        pass


def serve(listener: socket.socket) -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # the store ends with the training
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SlowStore, bind_and_activate=False)
    server.socket = listener
    server.serve_forever()


def shards(port: int, count: int):
    for number in range(count):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/shards/{number}", timeout=30) as reply:
            body = reply.read()  # SLOW HERE
        rows = np.frombuffer(body, dtype="float32").reshape(SHARD_ROWS, WIDTH)
        yield rows, rows[:, :8].sum(axis=1, keepdims=True)


@tf.function
def train_step(weights, rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(rows @ weights - targets))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    multiprocessing.get_context("fork").Process(target=serve, args=(listener,), daemon=True).start()
    weights = tf.Variable(tf.zeros([WIDTH, 1]))
    mark()
    for step, (rows, targets) in enumerate(shards(listener.getsockname()[1], 110)):
        loss = train_step(weights, rows, targets)
        if step % 20 == 0:
            print(f"step {step} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
