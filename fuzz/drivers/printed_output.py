"""What a program prints: any bytes, cut anywhere, and the same events however they are cut."""

from __future__ import annotations

from pathlib import Path

from unstall.sensors.printed_output.parser import OutputParser

SEEDS = (
    b"Epoch 1/3\n\r12/100 [==>...] - ETA: 1s - loss: nan - acc: 0.1\x08\x08\x08\r100/100 [===] - 3s 30ms/step - loss: 0.5\n",
    b"INFO:tensorflow:Step 100 per-step time 0.512s\n{'Loss/box': 0.5,\n 'Loss/total_loss': 1.2}\n",
    b"INFO:tensorflow:loss = 0.34, step = 200 (1.2 sec)\n[epoch 1] iter 20/100 loss: 0.51\nstep 1e999 loss 1e999\n",
    "Epoch 0:  45%|████▌     | 45/100 [00:10<00:12,  4.50it/s, v_num=0, train_loss=nan.0]\r".encode(),
    b"      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
    b"        1/3      2.31G      1.234        nan         12        640: 100%|#| 4/4 [00:01<00:00]\n",
    b" 100: 5.3, 6.2 avg loss, 0.001 rate\n{'loss': 0.5, 'epoch': 1.2}\n",
)
TOKENS = (
    *(
        b"loss",
        b"Loss/total_loss",
        b"epoch",
        b"Epoch 1/3\n",
        b"step ",
        b"iter",
        b"nan",
        b"inf",
        b"-",
        b"1e999",
        b"0.5",
        b"/",
        b"|",
    ),
    *(b"100%|", b"[00:01<00:02", b"it [", b"\r", b"\n", b"\x08\x08", b"\x1b[1m", b"\x1b]0;", b"\x07", b"\xff", b"\xe2\x94\x81"),
    *(b": ", b" = ", b"'", b"{", b"}", b",", b"12345678901234567890", b"val_", b"lossloss", b"1:1:1", b" - "),
)


def one(data: bytes, folder: Path) -> None:
    whole, cut = OutputParser(), OutputParser()
    events = [*whole.feed(data, 1.0), *whole.finish(1.0)]
    size = 1 + sum(data) % 7
    pieces = [cut.feed(data[start : start + size], 1.0) for start in range(0, len(data), size)]
    again = [*(event for piece in pieces for event in piece), *cut.finish(1.0)]
    if events != again:
        raise AssertionError(f"cut into pieces of {size}: {again}, and whole: {events}")
