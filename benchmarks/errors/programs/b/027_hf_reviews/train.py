import tempfile

import numpy as np
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)

from dataset import ReviewDataset, make_reviews


def build_model(vocab_size):
    config = DistilBertConfig(
        vocab_size=vocab_size + 1,
        dim=32,
        hidden_dim=64,
        n_layers=1,
        n_heads=2,
        max_position_embeddings=32,
        num_labels=2,
    )
    return DistilBertForSequenceClassification(config)


def compute_metrics(prediction):
    logits, labels = prediction
    return {"accuracy": float((np.argmax(logits, axis=-1) == labels).mean())}


def main():
    set_seed(0)
    train_set = ReviewDataset(make_reviews(128, seed=0))
    eval_set = ReviewDataset(make_reviews(32, seed=1))
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out,
            num_train_epochs=2,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=16,
            learning_rate=1e-3,
            eval_strategy="epoch",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        )
        trainer = Trainer(
            model=build_model(len(train_set.vocab)),
            args=args,
            train_dataset=train_set,
            eval_dataset=eval_set,
            compute_metrics=compute_metrics,
        )
        trainer.train()


if __name__ == "__main__":
    main()
