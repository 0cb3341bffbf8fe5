"""Writes the golden files, with torchvision: python -m tests.detectors.make_goldens [FOLDER]"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from torchvision.models.detection.image_list import ImageList

from tests.detectors.golden import CLASSES, FOLDER, GOLDENS, Golden, drawn, images, kept, regions, targets

FROZEN = ("retinanet_resnet50_fpn", "fasterrcnn_resnet50_fpn", "fasterrcnn_mobilenet_v3_large_fpn")  # as their weights come

RARITY, NEVER = 4.0, -30.0  # of logits


def built(golden: Golden) -> Any:
    model = getattr(torchvision.models.detection, golden.variant)(
        weights=None, weights_backbone=None, num_classes=CLASSES + 1, **golden.theirs
    )
    height, width = golden.px
    model.transform.min_size, model.transform.max_size = (min(height, width),), max(height, width)
    state = model.state_dict()
    model.load_state_dict(
        {
            key: value if key.endswith("tracked") else torch.from_numpy(drawn(key, tuple(value.shape)))
            for key, value in state.items()
        }
    )
    return model.eval()


def scale_outputs(model: Any, golden: Golden, pictures: list[Any]) -> dict[str, float]:
    """One layer after the other: what the second stage gives depends on the first."""
    factors = {}
    for key, spread in golden.spreads:
        module, given = model.get_submodule(key), []
        hook = module.register_forward_hook(lambda _, __, output, given=given: given.append(output.detach().flatten()))
        with torch.no_grad():
            model(pictures)
        hook.remove()
        factor = spread / float(torch.cat(given).std())
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(factor)
        factors[key] = factor
    return factors


def make_rare(model: Any, golden: Golden) -> dict[str, np.ndarray]:
    """Of sigmoid outputs: objects are few, as for a trained detector, and the output that stands for background is never one."""
    if not golden.variant.startswith("retinanet"):
        return {}
    key = "head.classification_head.cls_logits"
    bias = model.get_submodule(key).bias
    with torch.no_grad():
        bias.sub_(RARITY)
        bias.view(-1, CLASSES + 1)[:, 0] = NEVER
    return {f"bias {key}": bias.detach().numpy().copy()}


def raw_outputs(model: Any, golden: Golden, pictures: list[Any]) -> dict[str, Any]:
    batch, _ = model.transform(pictures)
    features = model.backbone(batch.tensors)
    if golden.variant.startswith("fasterrcnn"):
        objects, codes = model.rpn.head(list(features.values()))
        own = [torch.from_numpy(each) for each in regions(golden)]
        read = model.roi_heads.box_roi_pool(features, own, batch.image_sizes)
        classes, boxes = model.roi_heads.box_predictor(model.roi_heads.box_head(read))
        flat = {
            "objects": torch.cat([each.permute(0, 2, 3, 1).flatten(1) for each in objects], 1),
            "anchor_codes": torch.cat([by_anchor(each, 4) for each in codes], 1),
        }
        return {**flat, "classes": classes, "boxes": boxes}
    features = list(features.values()) if isinstance(features, dict) else [features]
    outputs = model.head(features)
    anchors = model.anchor_generator(ImageList(batch.tensors, batch.image_sizes), features)
    return {"classes": outputs["cls_logits"], "boxes": outputs["bbox_regression"], "anchors": anchors[0]}


def by_anchor(outputs: Any, values: int) -> Any:
    count, channels, height, width = outputs.shape
    shaped = outputs.view(count, channels // values, values, height, width).permute(0, 3, 4, 1, 2)
    return shaped.reshape(count, -1, values)


def losses(model: Any, golden: Golden, pictures: list[Any]) -> dict[str, float]:
    model.train()
    if golden.variant in FROZEN:
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.eval()
    given = targets(golden)
    wanted = [
        {"boxes": torch.from_numpy(boxes[mask]), "labels": torch.from_numpy(classes[mask]).long() + 1}
        for boxes, classes, mask in zip(given["boxes"], given["classes"], given["mask"], strict=True)
    ]
    with torch.no_grad():
        found = {key: float(value) for key, value in model(pictures, wanted).items()}
    model.eval()
    return found


def make(golden: Golden, folder: Path) -> None:
    torch.manual_seed(0)
    model = built(golden)
    pictures = [torch.from_numpy(image).permute(2, 0, 1) / 255 for image in images(golden)]
    factors = scale_outputs(model, golden, pictures)
    arrays: dict[str, Any] = {f"factor {key}": np.float64(factor) for key, factor in factors.items()}
    arrays |= make_rare(model, golden)
    with torch.no_grad():
        arrays |= {f"raw {key}": kept(value.numpy()) for key, value in raw_outputs(model, golden, pictures).items()}
        for number, found in enumerate(model(pictures)):
            arrays |= {f"found {key} {number}": value.numpy() for key, value in found.items()}
    before = {key: value.clone() for key, value in model.state_dict().items()}
    arrays |= {f"loss {key}": np.float64(value) for key, value in losses(model, golden, pictures).items()}
    model.load_state_dict(before)  # statistics move in training
    np.savez_compressed(folder / f"{golden.variant}.npz", **arrays)
    counts = [len(arrays[f"found scores {number}"]) for number in range(2)]
    best = [float(arrays[f"found scores {number}"][:1].sum()) for number in range(2)]
    print(
        golden.variant, {key: float(value) for key, value in arrays.items() if key.startswith("loss")}, counts, best, flush=True
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for golden in GOLDENS.values():
        make(golden, folder)


if __name__ == "__main__":
    main()
