"""A config of the TF Object Detection API that lies in a bucket with its records, and its settings written there."""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_cli import as_json, call
from tests.storage.conftest import Place
from tests.tfod.configs import SSD, written
from unstall import settings_file
from unstall.data.shapes import Shapes
from unstall.data.shapes_files import write_shapes

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
    told = as_json("import", "tfod", f"{google.url}/tf/pipeline.config", f"{google.url}/imported")
    assert (told["images"], told["out"]) == (20, f"{google.url}/imported/unstall.toml")
    values, _ = settings_file.read(told["out"])
    assert values["data"] == f"{google.url}/tf/data.record"
    assert (values["labels"], values["epochs"]) == (f"{google.url}/tf/label_map.pbtxt", 4)
    again = call("import", "tfod", f"{google.url}/tf/pipeline.config", f"{google.url}/imported")
    assert (again.returncode, "is not overwritten" in again.stderr) == (2, True)


def test_a_config_on_the_disk_asks_no_bucket_but_the_one_that_was_said(google: Place, tmp_path: Path) -> None:
    put_data(google, tmp_path)
    config = tmp_path / "pipeline.config"
    config.write_text(written(SSD, train="batch_size: 4 num_steps: 20", readers=READERS), encoding="utf-8")
    google.proxy.seen.clear()
    call("import", "tfod", str(config), str(tmp_path / "first"))
    assert google.proxy.seen == []
    data = f"{google.url}/tf/data.record"
    told = as_json("import", "tfod", str(config), str(tmp_path / "second"), "--data", data, "--labels", f"{google.url}/none")
    assert told["images"] == 20
    assert [(each["setting"], each["why"]) for each in told["to_set"] if each["setting"] == "labels"] == [
        ("labels", "nothing is there")
    ]
