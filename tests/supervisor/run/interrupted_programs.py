"""Programs that hang at a server that says nothing, and that their user interrupts."""

# A KeyboardInterrupt can be lost in a training, with or without Unstall: Python drops one that arrives in a callback of the garbage
# collector (JAX has one, and Keras imports JAX where it is installed). Without any such callback, of 250 fits that were interrupted once
# 2 went on alone and 3 under `unstall run`; where it is lost there is not known. People press Ctrl-C again, and so do these tests.
# The 200th batch comes from a server that says nothing until it is told to. On its way out the program evaluates.
FIT = """
import os, socket, sys, time
os.environ["KERAS_BACKEND"] = "torch"
import keras, numpy as np, torch
torch.set_num_threads(1)
source = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
rng = np.random.default_rng(0)
x = rng.normal(size=(6400, 8)).astype("float32")
y = x[:, :1] * 0.5

def batches():
    number = 0
    while True:
        number += 1
        if number == int(sys.argv[2]):
            source.recv(1)  # BLOCKED HERE
        chosen = rng.integers(0, 6400, 16)
        yield x[chosen], y[chosen]

model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
try:
    model.fit(batches(), steps_per_epoch=100, epochs=100_000, verbose=0)
finally:
    open("leaving", "w").close()
    time.sleep(2)
    model.evaluate(x[:64], y[:64], verbose=0)
    time.sleep(5)
"""
# A loop of one's own, of which no step is seen. On its way out it computes; SIGTERM ends it, or does not.
LOOP = """
import signal, socket, sys, time
import torch
torch.set_num_threads(1)
signal.signal(signal.SIGTERM, lambda *args: sys.exit(143) if sys.argv[2] == "leaves" else None)
source = socket.create_connection(("127.0.0.1", int(sys.argv[1])))

def batches():
    for _ in range(200):
        time.sleep(0.005)
        yield torch.randn(16, 8)
    source.recv(1)  # BLOCKED HERE

model = torch.nn.Linear(8, 1)
try:
    for batch in batches():
        model(batch).mean().backward()
finally:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        torch.randn(200, 200) @ torch.randn(200, 200)
"""

# As a notebook does: the interrupt ends the cell, and the process lives on. Then the same model is trained on.
GUARDED = """
import json, os, signal, socket, threading, time
os.environ["KERAS_BACKEND"] = "torch"
import keras, numpy as np, torch
import unstall
torch.set_num_threads(1)
rng = np.random.default_rng(0)
source, server = socket.socketpair()
guard = unstall.Guard(quiet=True)

def batches(last):
    number = 0
    while number != last:
        number += 1
        x = rng.normal(size=(16, 8)).astype("float32")
        yield x, x[:, :1] * 0.5
    source.recv(1)  # BLOCKED HERE

def wait_for(what):
    until = time.monotonic() + 100
    while True:
        story = guard.run.read_story() or {}
        if what(story) or time.monotonic() > until:
            return story
        time.sleep(0.1)

def interrupt():
    wait_for(lambda story: story.get("verdicts"))
    time.sleep(1)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # while stacks are read the kernel may choose another thread

model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
threading.Thread(target=interrupt, daemon=True).start()
try:
    model.fit(batches(200), steps_per_epoch=100, epochs=1000, verbose=0, callbacks=[guard])
except KeyboardInterrupt:
    pass
interrupted = wait_for(lambda story: story.get("state") != "stuck")
time.sleep(12)  # the user reads what was said; the watcher looks again
later = guard.run.read_story()
over = threading.Event()

def interrupt_training():
    wait_for(lambda story: story.get("state") == "training")
    while not over.is_set():
        os.kill(os.getpid(), signal.SIGINT)
        over.wait(10)

threading.Thread(target=interrupt_training).start()
try:
    model.fit(batches(-1), steps_per_epoch=100, epochs=100_000, verbose=0, callbacks=[guard])
except KeyboardInterrupt:
    over.set()
time.sleep(12)
print(json.dumps({"run": str(guard.run.path), "stories": [interrupted, later, guard.run.read_story()]}))
"""
