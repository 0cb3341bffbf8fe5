"""Intent classification with a tiny BERT and the Hugging Face Trainer."""
import random
import tempfile

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

INTENTS = {
    "balance": ["what is my balance", "show me how much money i have left on the account", "balance please"],
    "transfer": ["send ten euros to anna", "transfer money", "please move one hundred from savings to checking"],
    "card": ["i lost my card", "block my credit card right now please", "card stolen"],
}


def build_tokenizer(texts):
    words = sorted({w for t in texts for w in t.split()})
    vocab = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    vocab.update({w: i + 4 for i, w in enumerate(words)})
    tok = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


class IntentDataset(torch.utils.data.Dataset):
    def __init__(self, texts, labels, tokenizer):
        self.encodings = tokenizer(texts, truncation=True, max_length=32)
        self.labels = labels

    def __getitem__(self, idx):
        item = {key: val[idx] for key, val in self.encodings.items()}
        item["labels"] = self.labels[idx]
        return item

    def __len__(self):
        return len(self.labels)


def main():
    random.seed(0)
    pairs = [(t, i) for i, texts in enumerate(INTENTS.values()) for t in texts] * 8
    random.shuffle(pairs)
    texts, labels = [p[0] for p in pairs], [p[1] for p in pairs]
    tokenizer = build_tokenizer(texts)
    train_ds = IntentDataset(texts[:60], labels[:60], tokenizer)
    eval_ds = IntentDataset(texts[60:], labels[60:], tokenizer)

    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64, num_labels=len(INTENTS),
    )
    model = BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out, num_train_epochs=1, per_device_train_batch_size=8,
            logging_steps=5, report_to=[], use_cpu=True, save_strategy="no",
        )
        trainer = Trainer(model=model, args=args, train_dataset=train_ds, eval_dataset=eval_ds)
        trainer.train()
        print(trainer.evaluate())


if __name__ == "__main__":
    main()
