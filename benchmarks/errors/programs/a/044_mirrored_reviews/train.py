import pathlib
import tempfile

from model import classifier, tf, vectorizer

import numpy as np

GLOBAL_BATCH = 32


def write_reviews(folder, n=240):
    rng = np.random.default_rng(16)
    tone = {"pos": ["loved", "excellent", "gripping"], "neg": ["boring", "awful", "flat"]}
    neutral = [f"term{k}" for k in range(60)]
    for label, words in tone.items():
        (folder / label).mkdir()
        for i in range(n // 2):
            text = list(rng.choice(neutral, 12)) + list(rng.choice(words, 2))
            (folder / label / f"{i}.txt").write_text(" ".join(rng.permutation(text)))


def read_reviews(folder):
    texts, labels = [], []
    for label, name in enumerate(("neg", "pos")):
        for file in sorted((folder / name).glob("*.txt")):
            texts.append(file.read_text())
            labels.append(label)
    return texts, np.array(labels, np.float32)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mirrored_"))
    write_reviews(folder)
    texts, labels = read_reviews(folder)
    to_tokens = vectorizer(texts)
    tokens = to_tokens(tf.constant(texts)).numpy()
    dataset = tf.data.Dataset.from_tensor_slices((tokens, labels)).shuffle(300).batch(GLOBAL_BATCH)

    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    print("replicas", strategy.num_replicas_in_sync)
    model = classifier()
    with strategy.scope():
        model.compile(
            optimizer=tf.keras.optimizers.Adam(1e-3),
            loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
    model.fit(dataset, epochs=2)


if __name__ == "__main__":
    main()
