"""The networks of SSD300 and SSDLite in plain PyTorch modules, nested as torchvision nests them, so that the names of their parameters are
the keys of its weights. What they compute is what those weights were trained for."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import nn
from torch.nn import functional

VGG = [64, 64, "M", 128, 128, "M", 256, 256, 256, "C", 512, 512, 512, "M", 512, 512, 512]  # C: the pooling that rounds up
BOXES_300 = (4, 6, 6, 6, 4, 4)
BOXES_LITE = (6,) * 6
BNECK = [
    # size, expanded, out, squeezes, hard swish, stride
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 80, True, True, 2), (5, 480, 80, True, True, 1), (5, 480, 80, True, True, 1),
]  # fmt: skip


class Head(nn.Module):
    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.module_list = nn.ModuleList(layers)


class Heads(nn.Module):
    def __init__(self, classes: list[nn.Module], boxes: list[nn.Module]) -> None:
        super().__init__()
        self.classification_head, self.regression_head = Head(classes), Head(boxes)


class Vgg(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for entry in VGG:
            if isinstance(entry, str):
                layers.append(nn.MaxPool2d(2, 2, ceil_mode=entry == "C"))
            else:
                layers += [nn.Conv2d(channels, entry, 3, padding=1), nn.ReLU()]
                channels = entry
        last = nn.Sequential(
            nn.MaxPool2d(3, 1, padding=1),
            nn.Conv2d(512, 1024, 3, padding=6, dilation=6),
            nn.ReLU(),
            nn.Conv2d(1024, 1024, 1),
            nn.ReLU(),
        )
        self.features = nn.Sequential(*layers[:23])
        self.extra = nn.ModuleList(
            [nn.Sequential(*layers[23:], last)]
            + [
                nn.Sequential(nn.Conv2d(a, b, 1), nn.ReLU(), nn.Conv2d(b, c, 3, **more), nn.ReLU())
                for a, b, c, more in (
                    (1024, 256, 512, {"padding": 1, "stride": 2}),
                    (512, 128, 256, {"padding": 1, "stride": 2}),
                    (256, 128, 256, {}),
                    (256, 128, 256, {}),
                )
            ]
        )
        self.scale_weight = nn.Parameter(torch.ones(512) * 20)

    def forward(self, x: Any) -> list[Any]:
        x = self.features(x)
        maps = [self.scale_weight.view(1, -1, 1, 1) * functional.normalize(x)]
        for block in self.extra:
            x = block(x)
            maps.append(x)
        return maps


class Detector(nn.Module):
    def __init__(self, backbone: nn.Module, head: Heads) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, x: Any) -> dict[str, list[Any]]:
        maps = self.backbone(x)
        heads = {"classes": self.head.classification_head.module_list, "boxes": self.head.regression_head.module_list}
        return {key: [layer(each) for layer, each in zip(layers, maps, strict=True)] for key, layers in heads.items()}


def ssd300(outputs: int) -> Detector:
    channels = (512, 1024, 512, 256, 256, 256)
    per_level = list(zip(channels, BOXES_300, strict=True))
    return Detector(Vgg(), Heads(*([nn.Conv2d(a, b * values, 3, padding=1) for a, b in per_level] for values in (outputs, 4))))


def conv_norm(
    a: int, b: int, size: int, act: type[nn.Module] | None, stride: int = 1, groups: int = 1, eps: float = 1e-3
) -> nn.Sequential:
    conv = nn.Conv2d(a, b, size, stride, (size - 1) // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(b, eps=eps), *([act()] if act else []))


class Squeeze(nn.Module):
    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Any) -> Any:
        weight = functional.adaptive_avg_pool2d(x, 1)
        return x * functional.hardsigmoid(self.fc2(functional.relu(self.fc1(weight))))


SQUEEZED = {72: 24, 120: 32, 480: 120, 672: 168, 960: 240}  # a quarter, as a multiple of eight


class Inverted(nn.Module):
    def __init__(self, a: int, size: int, expanded: int, b: int, squeezes: bool, swish: bool, stride: int, eps: float) -> None:
        super().__init__()
        act: type[nn.Module] = nn.Hardswish if swish else nn.ReLU
        layers = [conv_norm(a, expanded, 1, act, eps=eps)] if expanded != a else []
        layers.append(conv_norm(expanded, expanded, size, act, stride, expanded, eps))
        layers += [Squeeze(expanded, SQUEEZED[expanded])] if squeezes else []
        layers.append(conv_norm(expanded, b, 1, None, eps=eps))
        self.block = nn.Sequential(*layers)
        self.adds = stride == 1 and a == b

    def forward(self, x: Any) -> Any:
        return x + self.block(x) if self.adds else self.block(x)


def mobilenet(reduced: bool, eps: float) -> nn.Sequential:
    layers: list[nn.Module] = [conv_norm(3, 16, 3, nn.Hardswish, 2, eps=eps)]
    channels = 16
    for number, (size, expanded, filters, squeezes, swish, stride) in enumerate(BNECK):
        wide = expanded if reduced or number < 13 else 2 * expanded
        out = filters if reduced or number < 12 else 2 * filters
        layers.append(Inverted(channels, size, wide, out, squeezes, swish, stride, eps))
        channels = out
    layers.append(conv_norm(channels, 6 * channels, 1, nn.Hardswish, eps=eps))
    return nn.Sequential(*layers)


class Lite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers = mobilenet(reduced=True, eps=1e-3)
        cut: Any = layers[13]
        rest = nn.Sequential(OrderedDict(list(cut.block.named_children())[1:]))  # which keeps its numbers, from 1 on
        self.features = nn.Sequential(nn.Sequential(*layers[:13], cut.block[0]), nn.Sequential(rest, *layers[14:]))
        self.extra = nn.ModuleList(
            nn.Sequential(
                conv_norm(a, b // 2, 1, nn.ReLU6),
                conv_norm(b // 2, b // 2, 3, nn.ReLU6, 2, b // 2),
                conv_norm(b // 2, b, 1, nn.ReLU6),
            )
            for a, b in ((480, 512), (512, 256), (256, 256), (256, 128))
        )

    def forward(self, x: Any) -> list[Any]:
        maps = []
        for block in (*self.features, *self.extra):
            x = block(x)
            maps.append(x)
        return maps


def ssdlite(outputs: int) -> Detector:
    per_level = list(zip((672, 480, 512, 256, 256, 128), BOXES_LITE, strict=True))

    def head(a: int, filters: int) -> nn.Sequential:
        return nn.Sequential(conv_norm(a, a, 3, nn.ReLU6, 1, a), nn.Conv2d(a, filters, 1))

    return Detector(Lite(), Heads(*([head(a, b * values) for a, b in per_level] for values in (outputs, 4))))


class Body(nn.Module):
    """MobileNet as Faster R-CNN holds it: `backbone.body`."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.ModuleDict({"body": mobilenet(reduced=False, eps=1e-5)})

    def forward(self, x: Any) -> list[Any]:
        maps = []
        for number, layer in enumerate(self.backbone["body"]):
            x = layer(x)
            if number in (13, 16):
                maps.append(x)
        return maps
