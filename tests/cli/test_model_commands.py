"""`unstall weights`, `evaluate`, `predict` and `export` as a person meets them, in real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.test_cli import as_json, call
from tests.detectors.weights.checkpoints import checkpoint, mapping, tensor, zipped
from tests.training.tiny import NAMES, VARIANT, tiny_weights
from unstall.cli import list_group_commands
from unstall.detectors.weights import compatibility


@pytest.fixture
def tiny_pth(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    known = compatibility.list_known_variants()[VARIANT].shapes
    arrays = {key: random.normal(0, 0.1, shape).astype(np.float32) for key, shape in known.items()}
    return checkpoint(tmp_path / "tiny.pth", {**arrays, "epoch_mean": np.ones(2, np.float32)}, nested="model")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photographs")
    assert call("data", "shapes", str(folder / "set"), "--num-images", "6", "--image-size", "120x90").returncode == 0
    return folder / "set"


# --- weights ---


def test_the_group_lists_its_commands() -> None:
    listed = call("weights", "--help").stdout.partition("Commands:")[2]
    assert (
        [line.split()[0] for line in listed.splitlines() if line[:3].strip()]
        == list(list_group_commands("weights").names())
        == ["import", "show"]
    )


def test_import_makes_a_weights_file_and_says_what_was_taken(tiny_pth: Path, tmp_path: Path) -> None:
    out = tmp_path / "tiny.safetensors"
    done = call("weights", "import", str(tiny_pth), "--out", str(out), COLUMNS="160")
    assert done.returncode == 0, done.stderr
    assert f"{VARIANT}, num_classes 6, from {tiny_pth}, a detector" in done.stdout and "no such tensor here" in done.stdout
    result = as_json("weights", "show", str(out))
    assert result["description"]["variant"] == VARIANT and result["written_by"] == "Unstall"
    assert result["fits"][0] == {
        "variant": VARIANT,
        "matched": len(result["tensors"]),
        "total": len(result["tensors"]),
        "as": "a detector",
    }


def test_import_as_json_has_all_of_it(tiny_pth: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("".join(f"{number}\n" for number in range(5)))
    out = str(tmp_path / "five.safetensors")
    result = as_json("weights", "import", str(tiny_pth), "--out", out, "--num-classes", "5", "--class-names", str(names))
    assert result["holds"] == "headless" and result["classes"] == 5 and result["class_names"] == ["0", "1", "2", "3", "4"]
    assert sum(group["count"] for group in result["new"]) == 2
    assert {"why": "no such tensor here", "count": 1, "names": ["epoch_mean"]} in result["left_out"]
    taken = len(result["taken"])
    assert taken + 2 == len(compatibility.list_known_variants()[VARIANT].shapes)
    names.write_text("one\n")
    done = call("weights", "import", str(tiny_pth), "--out", out, "--class-names", str(names))
    assert done.returncode == 2 and "expected 6 names, a line for each class. Received: 1" in done.stderr


def test_show_of_a_checkpoint_lists_its_tensors(tiny_pth: Path) -> None:
    done = call("weights", "show", str(tiny_pth), "--tensors", COLUMNS="160")
    assert done.returncode == 0 and "backbone.body.conv1.weight" in done.stdout and "written by PyTorch" in done.stdout
    assert f"fits {VARIANT}: " in done.stdout


@pytest.mark.parametrize("name", ["import", "show"])
def test_a_checkpoint_that_would_run_something_is_refused(name: str, tmp_path: Path) -> None:
    pickle = mapping({"w": tensor("0", 1, (1,)), "x": b"cos\nsystem\n(X\x04\x00\x00\x00truetR"})
    done = call("weights", name, str(zipped(tmp_path / "a.pth", pickle, {"0": bytes(4)})))
    assert done.returncode == 2 and "It refers to 'os.system'" in done.stderr


def test_weights_need_no_framework(tiny_pth: Path, tmp_path: Path) -> None:
    program = """
import sys
for package in ("keras", "tensorflow", "jax", "torch"):
    sys.modules[package] = None
from unstall.cli import main
main()
"""
    command = [sys.executable, "-c", program, "weights", "import", str(tiny_pth), "--out", str(tmp_path / "a.safetensors")]
    assert subprocess.run(command, check=False, capture_output=True, timeout=240).returncode == 0


# --- what is wrong is said before a framework is loaded ---


@pytest.mark.parametrize("command", ["evaluate", "predict", "export"])
def test_weights_that_are_not_there_or_not_imported_are_refused(command: str, tiny_pth: Path, photographs: Path) -> None:
    image = str(next(photographs.rglob("*.jpg")))
    rest = {"evaluate": ["--data", str(photographs)], "predict": [image], "export": ["out", "--to", "savedmodel"]}[command]
    done = call(command, "--weights", "absent.safetensors", *rest)
    assert done.returncode == 2 and "'absent.safetensors': expected a file of weights. There is nothing." in done.stderr
    done = call(command, "--weights", str(tiny_pth), *rest)
    assert done.returncode == 2 and f"Import it first: unstall weights import {tiny_pth}" in done.stderr


def test_a_backend_that_there_is_not_is_refused(tmp_path: Path, photographs: Path) -> None:
    weights = str(tiny_weights(tmp_path / "tiny.safetensors"))
    done = call("evaluate", "--weights", weights, "--data", str(photographs), "--backend", "mxnet")
    assert done.returncode == 2 and "There is no backend 'mxnet'" in done.stderr


def test_an_export_that_keras_cannot_is_refused(tmp_path: Path) -> None:
    weights = str(tiny_weights(tmp_path / "tiny.safetensors"))
    done = call("export", "--weights", weights, "--to", "litert", "out.tflite", "--backend", "jax")
    assert (
        done.returncode == 2
        and "cannot be exported as litert from jax: Keras has no way to. Choose another with --backend: tensorflow" in done.stderr
    )


@pytest.mark.parametrize(("path", "said"), [("absent.png", "There is nothing"), (".", "has no images")])
def test_predict_needs_images(path: str, said: str, tmp_path: Path) -> None:
    weights = str(tiny_weights(tmp_path / "tiny.safetensors"))
    (tmp_path / "empty").mkdir()
    done = call("predict", str(tmp_path / "empty" / path), "--weights", weights)
    assert done.returncode == 2 and said in done.stderr


@pytest.mark.parametrize(("package", "command"), [("numpy", "weights show x"), ("keras", "export x --to onnx --weights WEIGHTS")])
def test_a_missing_package_is_named_with_the_command_that_installs_it(package: str, command: str, tmp_path: Path) -> None:
    weights = str(tiny_weights(tmp_path / "tiny.safetensors"))
    words = [weights if word == "WEIGHTS" else word for word in command.split()]
    program = f"import sys\nsys.modules[{package!r}] = None\nfrom unstall.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 5 and f"the package '{package}'" in done.stderr and "pip install 'unstall[" in done.stderr


# --- with a backend ---


@pytest.mark.torch
@pytest.mark.all_packages  # matplotlib draws the page and the picture
def test_evaluate_for_a_person_as_json_as_a_page_and_as_a_picture(tmp_path: Path, photographs: Path) -> None:
    weights = str(tiny_weights(tmp_path / "tiny.safetensors"))
    page, picture, result = tmp_path / "score.html", tmp_path / "score.png", tmp_path / "score.json"
    targets = ["--html", str(page), "--png", str(picture), "--json", str(result)]
    done = call(
        "evaluate",
        "--weights",
        weights,
        "--data",
        str(photographs),
        "--backend",
        "torch",
        "--batch-size",
        "4",
        *targets,
        COLUMNS="120",
    )
    assert done.returncode == 0, done.stderr
    assert "AP50" in done.stdout and "6 images of" in done.stdout and "on torch" in done.stdout
    plain = json.loads(result.read_text())
    assert set(plain["figures"]) >= {"AP", "AP50", "AR_100"} and len(plain["curves"]["recall"]) == 101
    with Image.open(picture) as image:
        assert image.width > 800
    assert "data:image/png;base64," in page.read_text() and "<script" not in page.read_text()


@pytest.mark.torch
def test_predict_draws_pictures_and_prints_boxes(tmp_path: Path, photographs: Path) -> None:
    weights = str(tiny_weights(tmp_path / "tiny.safetensors"))
    out = tmp_path / "drawn"
    (photographs / "broken.jpg").write_bytes(b"no image")
    done = call(
        "predict", str(photographs), "--weights", weights, "--out", str(out), "--backend", "torch", "--score-threshold", "0.1", "--json", "-"
    )  # fmt: skip
    (photographs / "broken.jpg").unlink()
    assert done.returncode == 1, done.stderr  # as not all of them could be read
    plain = json.loads(done.stdout)
    (skipped,) = plain["skipped"]
    assert len(plain["images"]) == 6 and Path(skipped["image"]).name == "broken.jpg"
    assert skipped["why"].startswith("it is no image that can be read") and "Error" not in skipped["why"]
    assert {box["class"] for image in plain["images"] for box in image["boxes"]} <= set(NAMES)
    assert sorted(map(str, out.iterdir())) == sorted(image["picture"] for image in plain["images"])
    for image in plain["images"]:
        with Image.open(image["picture"]) as drawn, Image.open(image["image"]) as stored:
            assert drawn.size == stored.size


@pytest.mark.tensorflow
def test_export_writes_a_model_and_says_its_shapes(tmp_path: Path) -> None:
    weights = str(tiny_weights(tmp_path / "tiny.safetensors"))
    out = tmp_path / "model"
    done = call(
        "export", str(out), "--weights", weights, "--to", "savedmodel", "--backend", "tensorflow", CUDA_VISIBLE_DEVICES=""
    )
    assert done.returncode == 0, done.stderr
    assert "images 1×96×96×3" in done.stdout and "boxes 1×100×4" in done.stdout
    assert (out / "saved_model.pb").exists() and any((out / "variables").iterdir())
