"""A config of the TF Object Detection API that lies in a bucket with its records, and its settings written there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storage.conftest import Place
from tests.tfod.configs import SSD, written
from unstall.base.errors import InvalidInputError
from unstall.config import toml_file
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.tfod.conversion import convert, refuse_existing, write
from unstall.tfod.inputs import PathOverrides

READERS = """
train_input_reader { label_map_path: "label_map.pbtxt" tf_record_input_reader { input_path: "data.record" } }
eval_input_reader { tf_record_input_reader { input_path: "gs://another-bucket/val.record" } }
"""


def put_data(google: Place, tmp_path: Path) -> None:
    write_shapes(tmp_path / "shapes", Shapes(20, 64, 48, 0), "tfrecord", splits={})
    for name in ("data.record", "label_map.pbtxt"):
        google.path(f"tf/{name}").write_bytes((tmp_path / "shapes" / name).read_bytes())


def test_all_of_it_in_a_bucket(google: Place, tmp_path: Path) -> None:
    """What lies beside the config is counted, as it would be on a disk."""
    put_data(google, tmp_path)
    google.path("tf/pipeline.config").write_text(written(SSD, train="batch_size: 4 num_steps: 20", readers=READERS))
    out = f"{google.url}/imported"
    found = convert(f"{google.url}/tf/pipeline.config", PathOverrides(out=out))
    assert found.images == 20
    values, _ = toml_file.read(write(found, out)["out"])
    assert values["data"] == f"{google.url}/tf/data.record"
    assert (values["label_map"], values["epochs"]) == (f"{google.url}/tf/label_map.pbtxt", 4)
    with pytest.raises(InvalidInputError, match=f"'{out}/unstall.toml' is there already, and is not overwritten"):
        refuse_existing(out)


def test_a_config_on_the_disk_asks_no_bucket_but_the_one_that_was_said(google: Place, tmp_path: Path) -> None:
    put_data(google, tmp_path)
    config = tmp_path / "pipeline.config"
    config.write_text(written(SSD, train="batch_size: 4 num_steps: 20", readers=READERS), encoding="utf-8")
    google.proxy.seen.clear()
    convert(config)
    assert google.proxy.seen == []
    found = convert(config, PathOverrides(data=f"{google.url}/tf/data.record", label_map=f"{google.url}/none"))
    assert found.images == 20
    assert [each.why for each in found.to_set if each.setting == "label_map"] == ["nothing is there"]
