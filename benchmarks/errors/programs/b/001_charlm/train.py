# Character-level language model, truncated BPTT.
# Usage: python train.py
import tempfile
from pathlib import Path

import torch
from torch import nn

SEQ_LEN = 24
BATCH = 8

path = Path(tempfile.mkdtemp()) / "input.txt"
path.write_text("the quick brown fox jumps over the lazy dog while seven wizards box at dawn. " * 60)

text = path.read_text()
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text])
print(f"{len(text)} characters, {len(chars)} unique")

# BATCH parallel streams through the text, so that the state can be carried on
n = len(ids) // BATCH
streams = ids[: n * BATCH].view(BATCH, n)


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32)
        self.rnn = nn.GRU(32, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        h, state = self.rnn(self.embed(x), state)
        return self.out(h), state


def chunks(streams, seq_len):
    for i in range(0, streams.size(1) - seq_len - 1, seq_len):
        yield streams[:, i : i + seq_len], streams[:, i + 1 : i + seq_len + 1]


torch.manual_seed(0)
model = CharRNN(len(chars))
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    state = None
    total, count = 0.0, 0
    for x, y in chunks(streams, SEQ_LEN):
        optimizer.zero_grad()
        logits, state = model(x, state)
        loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
        count += 1
    print(f"epoch {epoch} loss {total / count:.3f}")
