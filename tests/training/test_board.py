"""What TensorBoard is given; and that a training without its package, or without room on the disk, goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image

from unstall.training.board import Board


def test_without_its_package_that_is_said_once_and_nothing_else_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)  # as Python does where a package is not there
    said: list[str] = []
    board = Board(tmp_path / "board", 0, said.append)
    board.scalars(1, {"loss": 1.0})
    board.picture(1, "a", Image.new("RGB", (8, 8)))
    board.close()
    assert len(said) == 1 and "pip install 'unstall[tensorboard]'" in said[0]
    assert not (tmp_path / "board").exists()


@pytest.mark.torch  # which tensorboardX loads where it is installed
def test_numbers_and_pictures_are_written_and_what_is_not_finite_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    board = Board(tmp_path, 0, print)
    board.scalars(7, {"learning/loss": 0.5, "learning/gradient_norm": float("inf"), "score/AP_small": None})
    board.picture(7, "shapes_000001.jpg", Image.new("RGB", (8, 8)))
    board.close()
    (path,) = tmp_path.iterdir()
    raw = path.read_bytes()
    assert b"learning/loss" in raw and b"shapes_000001.jpg" in raw
    assert b"gradient_norm" not in raw and b"AP_small" not in raw


@pytest.mark.torch
def test_a_folder_that_cannot_be_written_is_said_once_and_nothing_else_happens(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    (tmp_path / "board").write_text("in the way")
    said: list[str] = []
    board = Board(tmp_path / "board", 0, said.append)
    board.scalars(1, {"loss": 1.0})
    board.close()
    assert len(said) == 1 and "Nothing more is written for TensorBoard" in said[0]
