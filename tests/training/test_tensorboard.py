"""What TensorBoard is given, read by TensorBoard's own reader; and that a training without room on the disk goes on."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

from unstall.training.tensorboard import EventFile, SummaryWriter


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads a folder as TensorBoard does, by what it has for places without TensorFlow: else it would load that."""
    pytest.importorskip("tensorboard")
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def read_folder(folder: Path) -> EventAccumulator:
        return EventAccumulator(str(folder)).Reload()

    return read_folder


def test_numbers_are_read_back_and_what_is_not_finite_is_left_out(tmp_path: Path, read: Any) -> None:
    board = SummaryWriter(tmp_path, 0, print)
    for step in (0, 7, 300, 2**40):
        board.scalars(step, {"learning/loss": 0.5 * step, "learning/gradient_norm": float("inf"), "score/AP_small": None})
    board.scalars(1, {"score/größe": -1e-30, "too large for it": 1e300})
    board.close()
    seen = read(tmp_path)
    assert [(event.step, event.value) for event in seen.Scalars("learning/loss")] == [
        (0, 0.0),
        (7, 3.5),
        (300, 150.0),
        (2**40, float(2**39)),
    ]
    assert seen.Scalars("score/größe")[0].value == pytest.approx(-1e-30)
    assert sorted(seen.Tags()["scalars"]) == ["learning/loss", "score/größe"]


def test_pictures_are_read_back_pixel_by_pixel(tmp_path: Path, read: Any) -> None:
    picture = Image.effect_noise((31, 17), 90).convert("RGB")
    board = SummaryWriter(tmp_path, 0, print)
    board.picture(7, "shapes_000001.jpg", picture)
    board.close()
    (image,) = read(tmp_path).Images("shapes_000001.jpg")
    assert (image.step, image.width, image.height) == (7, 31, 17)
    assert Image.open(io.BytesIO(image.encoded_image_string)).tobytes() == picture.tobytes()


def test_settings_are_read_back_as_a_table(tmp_path: Path, read: Any) -> None:
    board = SummaryWriter(tmp_path, 0, print)
    board.table(0, "settings", {"model": "ssd_tiny", "augment": "flip|zoom"})
    board.close()
    (tensor,) = read(tmp_path).Tensors("settings")
    (written,) = tensor.tensor_proto.string_val
    assert written.decode() == "| name | value |\n| --- | --- |\n| model | ssd_tiny |\n| augment | flip\\|zoom |"
    assert read(tmp_path).SummaryMetadata("settings").plugin_data.plugin_name == "text"


def test_what_was_written_beyond_the_checkpoint_is_taken_back(tmp_path: Path, read: Any) -> None:
    first = SummaryWriter(tmp_path, 0, print)
    for step in (10, 20, 30):
        first.scalars(step, {"loss": float(step)})
    first.close()
    second = SummaryWriter(tmp_path, 20, print)
    second.scalars(30, {"loss": 3.0})
    second.close()
    assert [(event.step, event.value) for event in read(tmp_path).Scalars("loss")] == [(10, 10.0), (20, 20.0), (30, 3.0)]


def test_two_files_of_one_second_have_two_names(tmp_path: Path) -> None:
    for _ in range(3):
        EventFile(tmp_path).close()
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("folder", ["in the way", "in the way/below"])
def test_a_folder_that_cannot_be_written_is_said_once_and_nothing_else_happens(folder: str, tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("")
    said: list[str] = []
    board = SummaryWriter(tmp_path / folder, 0, said.append)
    board.scalars(1, {"loss": 1.0})
    board.picture(1, "a", Image.new("RGB", (8, 8)))
    board.close()
    assert len(said) == 1 and "Nothing more is written for TensorBoard" in said[0]


def test_a_full_disk_is_said_once_and_nothing_else_happens(tmp_path: Path) -> None:
    said: list[str] = []
    board = SummaryWriter(tmp_path, 0, said.append)
    assert board._file is not None
    os.dup2(os.open("/dev/full", os.O_WRONLY), board._file._file.fileno())
    for step in range(3):
        board.scalars(step, {"loss": 1.0})
        board.flush()
    board.close()
    assert said == ["Nothing more is written for TensorBoard: No space left on device."]


def test_nothing_but_the_data_side_is_loaded_for_it() -> None:
    look = "import sys, unstall.training.tensorboard; print(sorted({'torch', 'tensorflow', 'jax', 'keras', 'tensorboardX'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout == "[]\n"
