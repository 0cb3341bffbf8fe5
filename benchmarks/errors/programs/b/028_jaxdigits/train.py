# MNIST-from-scratch with JAX, adapted to a synthetic 8x8 set.
import time

import jax
import jax.numpy as jnp
from jax import grad, jit, random
import numpy as np

step_size = 0.1
num_epochs = 4
batch_size = 50
layer_sizes = [64, 100, 10]


def prototypes(rng, n=1000, k=10):
    base = rng.normal(size=(k, 64))
    labels = rng.integers(0, k, n)
    images = base[labels] + 0.7 * rng.normal(size=(n, 64))
    return images.astype(np.float32), labels


def random_layer_params(m, n, key, scale=0.1):
    w_key, b_key = random.split(key)
    return scale * random.normal(w_key, (n, m)), scale * random.normal(b_key, (n,))


def init_network_params(sizes, key):
    keys = random.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]


def predict(params, images):
    activations = images
    for w, b in params[:-1]:
        activations = jax.nn.relu(activations @ w.T + b)
    final_w, final_b = params[-1]
    logits = activations @ final_w.T + final_b
    return logits - jax.scipy.special.logsumexp(logits, axis=1, keepdims=True)


def accuracy(params, images, labels):
    return jnp.mean(jnp.argmax(predict(params, images), axis=1) == labels)


def loss(params, images, labels, num_classes):
    targets = jax.nn.one_hot(labels, num_classes)
    return -jnp.mean(jnp.sum(predict(params, images) * targets, axis=1))


@jit
def update(params, images, labels, num_classes):
    grads = grad(loss)(params, images, labels, num_classes)
    return [(w - step_size * dw, b - step_size * db) for (w, b), (dw, db) in zip(params, grads)]


rng = np.random.default_rng(0)
images, labels = prototypes(rng)
num_classes = int(labels.max()) + 1
train_images, train_labels = images[:800], labels[:800]
test_images, test_labels = images[800:], labels[800:]
params = init_network_params(layer_sizes, random.key(0))
print("untrained accuracy", accuracy(params, test_images, test_labels))

for epoch in range(num_epochs):
    start = time.time()
    for i in range(0, len(train_images), batch_size):
        x, y = train_images[i : i + batch_size], train_labels[i : i + batch_size]
        params = update(params, x, y, num_classes)
    train_acc = accuracy(params, train_images, train_labels)
    test_acc = accuracy(params, test_images, test_labels)
    print(f"epoch {epoch} in {time.time() - start:.2f} s: train {train_acc:.3f} test {test_acc:.3f}")
