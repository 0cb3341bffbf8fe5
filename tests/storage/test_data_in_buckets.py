"""Data sets that lie in a bucket are read as those on a disk are, and feed the same batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_cli import call
from tests.data.dataset_files import picture, put
from tests.planning.preflight.contexts import context
from tests.storage.conftest import Place
from unstall.base.errors import BucketError, InvalidInputError
from unstall.data import formats
from unstall.data.check.runner import check
from unstall.data.example import DataSet, ImageSource
from unstall.data.formats import FORMATS
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.data.pipeline.bucket_fetcher import GAP_BYTES, join_ranges
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.data.tools.pack import pack
from unstall.detectors.weights.description import Description, read_description
from unstall.detectors.weights.formats import safetensors_files
from unstall.planning.preflight.check import CheckError
from unstall.planning.preflight.checks import bucket_speed, paths
from unstall.storage import resolve_path
from unstall.storage.transfer import open_target, put_folder
from unstall.training.loop.datasets import compute_fingerprint

COUNT = 12


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same pictures in every format."""
    root = tmp_path_factory.mktemp("sets")
    write_shapes(root / "coco", Shapes(COUNT, 64, 64, 0), "coco", splits={})
    data = formats.read(root / "coco")
    for name in ("voc", "yolo", "tfrecord"):
        (root / name).mkdir()
        FORMATS.module(name).write(data, root / name)
    return {each.name: each for each in root.iterdir() if each.is_dir()}


def in_bucket(place: Place, folder: Path) -> Path:
    target = place.path(f"sets/{folder.name}")
    put_folder(folder, target)  # type: ignore[arg-type]
    return target


def contents(data: DataSet) -> list[object]:
    each = [(item.name, item.width, item.height, item.boxes.tolist(), item.classes.tolist()) for item in data.examples]
    return [data.classes, data.class_numbers, [str(found) for found in data.findings], sorted(each)]


@pytest.mark.parametrize("name", ["coco", "voc", "yolo", "tfrecord"])
def test_every_format_is_recognised_and_read_in_a_bucket(amazon: Place, on_disk: dict[str, Path], name: str) -> None:
    path = in_bucket(amazon, on_disk[name])
    assert contents(formats.read(path)) == contents(formats.read(on_disk[name]))


def test_batches_from_a_bucket_are_those_from_a_disk(google: Place, on_disk: dict[str, Path]) -> None:
    settings = PipelineSettings(batch_size=4, height_px=64, width_px=64, num_input_workers=2)
    path = in_bucket(google, on_disk["tfrecord"])
    ours, theirs = (Pipeline(formats.read(where), settings) for where in (path, on_disk["tfrecord"]))
    google.proxy.seen.clear()
    for one, other in zip(ours.batches(), theirs.batches(), strict=True):
        np.testing.assert_array_equal(one.images, other.images)
        np.testing.assert_array_equal(one.boxes, other.boxes)
    asked = [path for method, path in google.proxy.seen if method == "GET"]
    assert len(asked) < COUNT, f"neighbours were not read together: {asked}"


def test_images_are_on_their_way_before_a_worker_asks(amazon: Place, on_disk: dict[str, Path]) -> None:
    data = formats.read(in_bucket(amazon, on_disk["coco"]))
    amazon.proxy.heal()
    amazon.proxy.fault(kind="late", after_s=0.3)
    assert (
        len(list(Pipeline(data, PipelineSettings(batch_size=4, height_px=64, width_px=64, num_input_workers=1)).batches()))
        == COUNT // 4
    )
    assert amazon.proxy.max_at_once > 4, "one worker alone would ask for one after the other"


def test_what_a_cache_holds_is_not_read_again(google: Place, on_disk: dict[str, Path]) -> None:
    settings = PipelineSettings(batch_size=4, height_px=64, width_px=64, num_input_workers=2, cache_bytes=2**24)
    pipeline = Pipeline(formats.read(in_bucket(google, on_disk["tfrecord"])), settings)
    assert len(list(pipeline.batches(epoch=0))) == COUNT // 4
    google.proxy.seen.clear()
    assert len(list(pipeline.batches(epoch=1))) == COUNT // 4
    assert google.proxy.seen == []


def test_images_are_checked_in_a_bucket(amazon: Place, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"classes.txt": "cat\n", "images/a.jpg": picture(), "images/b.jpg": picture()[:300]}
    put(tmp_path, files | {"labels/a.txt": "0 0.5 0.5 0.2 0.2\n", "labels/b.txt": "0 0.5 0.5 0.2 0.2\n"})
    report = check(formats.read(in_bucket(amazon, tmp_path)))
    broken = {each.example for problem in ("image_truncated", "image_unreadable") for each in report.found.get(problem, [])}
    assert broken == {"b.jpg"}


def test_a_bucket_that_goes_away_ends_the_batches_with_its_name_and_no_example_is_blamed(
    google: Place, on_disk: dict[str, Path], hurry: Callable[[], None]
) -> None:
    pipeline = Pipeline(
        formats.read(in_bucket(google, on_disk["coco"])), PipelineSettings(batch_size=4, height_px=64, width_px=64)
    )
    hurry()
    google.proxy.fault(kind="status", status=503, part_of_path="sets")
    with pytest.raises(BucketError, match=rf"{google.url}/sets/coco/.* cannot be read: the server is not available"):
        list(pipeline.batches())
    assert len(pipeline.skipped) == 0


def test_what_is_not_there_is_said(amazon: Place) -> None:
    amazon.path("other/x").write_bytes(b"x")
    with pytest.raises(InvalidInputError, match=f"'{amazon.url}/coco' is not there"):
        formats.read(f"{amazon.url}/coco")


def test_neighbours_are_read_with_one_request_and_others_are_not() -> None:
    path = resolve_path("gs://bucket/train.record")
    near, next_to_it = ImageSource(path, 0, 100), ImageSource(path, 200, 100)
    far, elsewhere = ImageSource(path, 300 + GAP_BYTES + 1, 100), ImageSource(resolve_path("gs://bucket/val.record"), 0, 100)
    assert join_ranges([far, next_to_it, elsewhere, near, near]) == [[near, next_to_it], [far], [elsewhere]]


def test_a_set_of_small_files_is_packed_from_bucket_to_bucket(google: Place, on_disk: dict[str, Path]) -> None:
    source = in_bucket(google, on_disk["yolo"])
    target = google.path("packed")
    packed = pack(source, target, shard_bytes=8000)
    data = formats.read(target)
    assert (data.format, len(data.examples), packed.written.lost) == ("tfrecord", COUNT, {})
    assert len(list(target.glob("*.record"))) == packed.shards > 1


def test_the_preflight_measures_a_bucket(amazon: Place, on_disk: dict[str, Path], tmp_path: Path) -> None:
    asked = context(tmp_path, data=str(in_bucket(amazon, on_disk["coco"])))
    facts = bucket_speed.look(asked).facts
    assert facts["latency_s"] > 0 and facts["read_images_per_s"] > 0 and facts["has_small_files"]
    assert 500 < facts["image_bytes"] < 50_000


def test_the_preflight_says_where_a_path_leads_nowhere(amazon: Place, tmp_path: Path) -> None:
    found = paths.look(context(tmp_path, data=f"{amazon.url}/not/there"))
    assert isinstance(found, CheckError) and f"'{amazon.url}/not/there' is not there" in found.reason


def test_weights_are_read_from_a_bucket_and_fetched_once(google: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    description = Description("ssd_tiny", class_names=("cat",))
    arrays = {"layer.weight": np.arange(6, dtype=np.float32).reshape(2, 3)}
    with open_target(resolve_path(f"{google.url}/best.safetensors")) as local:
        safetensors_files.write(local, arrays, description.as_metadata())
    checkpoint, said = read_description(f"{google.url}/best.safetensors")
    assert said.class_names == ("cat",)
    np.testing.assert_array_equal(checkpoint.tensors["layer.weight"].read(), arrays["layer.weight"])
    google.proxy.seen.clear()
    read_description(f"{google.url}/best.safetensors")
    assert not [path for _, path in google.proxy.seen if "alt=media" in path]


def test_a_training_does_not_ask_for_each_image_before_it_begins(amazon: Place, on_disk: dict[str, Path]) -> None:
    """Its fingerprint has the bytes of all images: by a listing, as each request takes as long as the way there."""
    data, here = formats.read(in_bucket(amazon, on_disk["coco"])), formats.read(on_disk["coco"])
    amazon.proxy.seen.clear()
    found = compute_fingerprint(data)
    assert len(amazon.proxy.seen) == 1
    assert found["bytes"] == compute_fingerprint(here)["bytes"] > 0
    assert found["storage"] == {"kind": "s3", "device": amazon.name, "is_remote": True, "is_rotational": None}


def test_the_embedded_data_set_is_written_to_a_bucket(google: Place, on_disk: dict[str, Path]) -> None:
    size = ["--num-images", str(COUNT), "--image-size", "64x64"]
    done = call("data", "shapes", f"{google.url}/shapes", *size)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(formats.read(google.path("shapes")).examples) == COUNT
    again = call("data", "shapes", f"{google.url}/shapes", *size)
    assert (again.returncode, "is not empty" in again.stderr) == (2, True)
