"""Room for checkpoints, and leave to write them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.planning.preflight.contexts import context
from unstall.planning.preflight.check import CheckError, CheckOk, CheckWarning
from unstall.planning.preflight.checks import disk_room


def test_room_for_all_fits_and_less_warns_or_refuses(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    assert isinstance(disk_room.judge(tmp_path, free // 100), CheckOk)
    assert isinstance(disk_room.judge(tmp_path, free * 3 // 4), CheckWarning)
    assert isinstance(disk_room.judge(tmp_path, free * 2), CheckError)


def test_a_folder_that_cannot_be_written_refuses() -> None:
    found = disk_room.judge(Path("/proc"), 1)
    assert isinstance(found, CheckError)


def test_a_larger_model_and_more_checkpoints_need_more(tmp_path: Path) -> None:
    def need(**settings: object) -> int:
        found = disk_room.look(context(tmp_path / "not" / "there", **settings))
        return int(found.facts["needed_bytes"])

    assert need(model="retinanet_resnet50_fpn") > need() + 4 * 38_000_000
    assert need(model="retinanet_resnet50_fpn", max_checkpoints=5) > need(model="retinanet_resnet50_fpn", max_checkpoints=2)
    assert need(model="retinanet_resnet50_fpn", ema_decay=0.99) > need(model="retinanet_resnet50_fpn")


def test_a_run_that_goes_on_needs_no_room_for_what_it_has_already(tmp_path: Path) -> None:
    def need() -> int:
        return int(disk_room.look(context(tmp_path)).facts["needed_bytes"])

    restarted = need()
    (tmp_path / "checkpoints" / "step-000000020").mkdir(parents=True)
    (tmp_path / "checkpoints" / "step-000000020" / "arrays.bin").write_bytes(bytes(3_000_000))
    (tmp_path / "best.safetensors").write_bytes(bytes(1_000_000))
    assert need() == restarted - 4_000_000


def test_a_cache_folder_without_room_refuses(tmp_path: Path) -> None:
    there = context(tmp_path, cache_dir=str(tmp_path), cache_bytes=2**60)
    assert isinstance(disk_room.look(there), CheckError)


def test_a_quick_look_leaves_nothing_behind(tmp_path: Path) -> None:
    disk_room.look(context(tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []
