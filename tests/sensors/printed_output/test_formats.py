"""What one printed line says of a training, in the words of many frameworks; and lines that only look like it."""

from __future__ import annotations

import math

import pytest

from unstall.sensors.printed_output.formats import read_line

KERAS_3 = "12/100 ━━━━━━━━━━━━━━━━━━━━ 2s 30ms/step - accuracy: 0.1 - loss: 2.3026"
YOLO = "      1/100      2.31G      1.25      2.5      0.25         12        640: 100%|██████████| 45/45 [00:10<00:00]"
THIN_YOLO = "      1/100         0G       1.25        2.5     0.25          4         96: 16% ━━────────── 4/24 3.7it/s 1.1s<5.4s"
COLUMNS = ("box_loss", "cls_loss", "dfl_loss", "Instances", "Size")


@pytest.mark.parametrize(
    ("line", "step", "of", "epoch", "loss"),
    [
        ("12/100 [====>.........] - ETA: 1s - loss: 0.5 - acc: 0.1", 12, 100, None, 0.5),
        ("100/100 - 3s - loss: 0.25 - val_loss: 0.6 - 3s/epoch - 30ms/step", 100, 100, None, 0.25),
        (KERAS_3, 12, 100, None, 2.3026),
        ("     12/Unknown - 3s 30ms/step - loss: 0.5", 12, None, None, 0.5),
        ("60000/60000 [==============================] - 5s 80us/step - loss: 0.3", 60000, 60000, None, 0.3),
        ("Epoch 3/50", None, None, 3, None),
        ("I1118 12:00:00.000000 140 model_lib_v2.py:705] Step 100 per-step time 0.512s", 100, None, None, None),
        ("INFO:tensorflow:Step 100 per-step time 0.512s loss=1.25", 100, None, None, 1.25),
        ("INFO:tensorflow:loss = 0.34, step = 200 (1.234 sec)", 200, None, None, 0.34),
        ("INFO:tensorflow:global step 20: loss = 2.3000 (0.512 sec/step)", 20, None, None, 2.3),
        ("train | step:    100 | steps/sec:   10.2 | output: ", 100, None, None, None),
        (" 45%|████▌     | 45/100 [00:10<00:12,  4.50it/s, loss=0.3]", 45, 100, None, 0.3),
        ("Epoch 2:  45%|███| 45/100 [00:10<00:12, 4.50it/s, v_num=0, train_loss=0.5]", 45, 100, 2, 0.5),
        ("45it [00:10, 4.50it/s, loss=0.3]", 45, None, None, 0.3),
        ("{'loss': 0.5, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 1.25}", None, None, 1.25, 0.5),
        ("{'loss': '0.5', 'grad_norm': '1.0', 'epoch': '1.25'}", None, None, 1.25, 0.5),
        (YOLO, 45, 45, 1, 4.0),
        (THIN_YOLO, 4, 24, 1, 4.0),
        (THIN_YOLO.replace("16% ━━────────── 4/24 3.7it/s 1.1s<5.4s", "0% ──────────── 0/24  0.3s"), 0, 24, 1, 4.0),
        (" 100: 5.313000, 6.25 avg loss, 0.001000 rate, 3.2 seconds, 6400 images", 100, None, None, 6.25),
        ("step 20 loss 0.51", 20, None, None, 0.51),
        ("[epoch 1] iter 20/100 loss: 0.51", 20, 100, 1, 0.51),
        ("Epoch: [3][20/100]  Time 0.1 (0.2)  Loss 5.1e-01 (0.62)  Acc@1 10.0", 20, 100, 3, 0.51),
        ("Epoch: [0]  [  20/1000]  eta: 0:10:00  lr: 0.02  loss: 0.25 (0.6123)  time: 0.5", 20, 1000, 0, 0.25),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300000", 640, 60000, 1, 2.3),
        ("2026-11-18 12:00:00,123 - mmdet - INFO - Epoch [1][50/7330]\tlr: 2.0e-03, time: 0.5, loss: 1.2", 50, 7330, 1, 1.2),
        ("[11/18 12:00:00 d2.utils.events]: eta: 0:10:00  iter: 19  total_loss: 1.2  loss_cls: 0.5", 19, None, None, 1.2),
        ('{"step": 20, "loss": 0.5, "lr": 0.1}', 20, None, None, 0.5),
        ("step: 20, loss: tensor(0.25, device='cuda:0', grad_fn=<NllLossBackward>)", 20, None, None, 0.25),
        ("epoch 3 train loss 0.5 val loss nan", None, None, 3, 0.5),
    ],
)
def test_a_line_of_a_training(line: str, step: int | None, of: int | None, epoch: float | None, loss: float | None) -> None:
    reading = read_line(line, COLUMNS)
    assert reading is not None
    assert not reading.is_aside
    assert (reading.step, reading.of, reading.epoch) == (step, of, epoch)
    assert (reading.loss[1] if reading.loss else None) == loss


@pytest.mark.parametrize(
    "line",
    [
        "12/100 [====>.........] - ETA: 1s - loss: nan - acc: 0.1",
        "Epoch 0:  45%|███| 45/100 [00:10<00:12, 4.50it/s, train_loss=nan.0]",
        " 'Loss/total_loss': nan,",
        " 100: -nan, -nan avg loss, 0.001000 rate",
        YOLO.replace("0.25", " nan"),
        THIN_YOLO.replace("0.25", " nan"),
        '{"step": 20, "loss": NaN}',
        "epoch = 3  loss = NaN32",
        "loss = inf, step = 200",
        "iter 5: loss -Infinity",
    ],
)
def test_a_loss_that_is_not_finite(line: str) -> None:
    reading = read_line(line, COLUMNS)
    assert reading is not None
    assert reading.loss is not None
    assert not math.isfinite(reading.loss[1])


@pytest.mark.parametrize(
    "line",
    [
        "    e.train(fn, steps=250)",
        "    history = model.fit(x, y, initial_epoch=3, epochs=5)",
        "    run(model, step=3, loss=nan)",
        "epochs: 50",
        "training for 20 epochs of 100 steps",
    ],
)
def test_source_and_settings_are_no_progress(line: str) -> None:
    assert read_line(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "loss: categorical_crossentropy",
        "val_loss: nan",
        "best loss: nan",
        "step 30 mAP: nan",
        "{'eval_loss': nan, 'eval_runtime': 3.2, 'epoch': 1.0}",
        "if you see loss: nan, lower the learning rate in step 3 of the list",
        "Test: [ 0/196]  Time 0.1  Loss nan",
        "[eval] step 20/100 loss: nan",
        "Evaluation step 4 loss: nan",
        "trial 3/20: lr=0.1 loss=nan",
        "loss_scale: nan step 5",
        "step 4 loss_weight: inf",
        "INFO:tensorflow:Saving dict for global step 100: accuracy = 0.5, global_step = 100, loss = nan",
        "Validation DataLoader 0:  45%|███| 45/100 [00:10<00:12, 4.50it/s, loss=nan]",
        "| run | lr | loss |",
        "| a   | 0.1 | nan |",
        "the loss of nanometers: 12",
        "LOSS_FILE=/data/loss.nan step 3",
        "'loss_upper_bound': inf,",
        "lossless: nan",
        "",
        "\ufffd\ufffd\ufffd",
    ],
)
def test_no_training_loss_that_is_not_finite(line: str) -> None:
    reading = read_line(line, COLUMNS)
    assert reading is None or reading.is_aside or reading.loss is None or math.isfinite(reading.loss[1])


@pytest.mark.parametrize(
    "line", ["'focal_loss_alpha': 0.25,", "    'loss_upper_bound': 1000000.0,", "'focal_loss_gamma': 1.5, step 3"]
)
def test_settings_of_a_loss_are_none(line: str) -> None:
    reading = read_line(line)
    assert reading is None or not reading.losses
