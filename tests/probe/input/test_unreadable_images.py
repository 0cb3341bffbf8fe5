"""Images for which OpenCV gives None are noted, with the user's line; those that it reads are not."""

from pathlib import Path

import pytest

from tests.probe.watched_programs import line, watch
from unstall.journal.events import ImageNotRead

PREAMBLE = """
import cv2, numpy as np
import torch  # Unstall looks closer once a framework is there
"""


@pytest.mark.torch
def test_what_opencv_cannot_read_is_noted(tmp_path: Path, own_home: Path) -> None:
    pytest.importorskip("cv2")
    pytest.importorskip("torch")
    (tmp_path / "torn.png").write_bytes(b"no image")
    journal = watch(
        f"""
        assert cv2.imwrite("{tmp_path}/whole.png", np.zeros((4, 4, 3), "uint8"))
        assert cv2.imread("{tmp_path}/whole.png").shape == (4, 4, 3)
        assert cv2.imread("{tmp_path}/missing.png") is None  # MISSING
        assert cv2.imread(filename="{tmp_path}/torn.png") is None
        """,
        tmp_path,
        own_home,
        preamble=PREAMBLE,
    )
    missing, torn = journal.of(ImageNotRead)
    assert (missing.path, missing.exists, missing.where) == (f"{tmp_path}/missing.png", False, line(tmp_path, "MISSING"))
    assert (torn.path, torn.exists) == (f"{tmp_path}/torn.png", True)
