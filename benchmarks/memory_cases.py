"""The configurations whose memory is predicted and measured: seven detectors, sizes, batches, precisions, remat on and off."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

CLASSES = 90


@dataclass(frozen=True)
class Case:
    model: str
    px: int
    batch_size: int
    micro_batch_size: int
    precision: str
    remat: bool = False
    optimizer: str = "sgd"
    ema_decay: float = 0.0

    @property
    def name(self) -> str:
        parts = [self.model, f"{self.px}px", f"b{self.batch_size}", self.precision, self.optimizer]
        parts += [f"m{self.micro_batch_size}"] if self.micro_batch_size != self.batch_size else []
        parts += [word for word, is_so in (("remat", self.remat), ("average", bool(self.ema_decay))) if is_so]
        return "-".join(parts)

    def settings(self) -> dict[str, Any]:
        """By the names of `unstall.config.settings`."""
        own = asdict(self)
        px = own.pop("px")
        return {**own, "detector": {"image_size": [px, px]}}


def _of(model: str, small: int, large: int, batch: int) -> list[Case]:
    return [
        Case(model, small, batch, batch, "bfloat16"),
        Case(model, small, 4 * batch, 4 * batch, "bfloat16"),
        Case(model, large, 2 * batch, 2 * batch, "bfloat16", remat=True),
        Case(model, small, batch, batch, "float32", optimizer="adamw"),
        Case(model, large, 2 * batch, batch // 2, "bfloat16", ema_decay=0.999),
    ]


_OF_EACH = (
    _of("retinanet_resnet50_fpn", 512, 800, 8),
    _of("ssd300_vgg16", 300, 512, 16),
    _of("fasterrcnn_mobilenet_v3_large_fpn", 512, 800, 8),
    _of("retinanet_resnet50_fpn_v2", 512, 800, 4),
    _of("ssdlite320_mobilenet_v3_large", 320, 480, 32),
    _of("fasterrcnn_resnet50_fpn", 512, 800, 4),
    _of("fasterrcnn_resnet50_fpn_v2", 512, 800, 4),
)
CASES = tuple(case for of_each in zip(*_OF_EACH, strict=True) for case in of_each)  # ended early, it has some of each detector
TINY = (
    Case("ssd_tiny", 64, 4, 4, "float32"),
    Case("ssd_tiny", 64, 8, 4, "float32", optimizer="adamw", ema_decay=0.99),
    Case("retinanet_tiny", 64, 2, 2, "float32", remat=True),
)


@dataclass(frozen=True)
class Search:
    """The largest micro-batch of a model that a card with so much for JAX holds."""

    model: str
    px: int
    precision: str
    gib: float
    first: int  # where the search begins

    @property
    def name(self) -> str:
        return f"largest-{self.model}-{self.px}px-{self.precision}-{self.gib:g}GiB"

    def case(self, images: int) -> Case:
        return Case(self.model, self.px, images, images, self.precision)


SEARCHES = (
    Search("ssdlite320_mobilenet_v3_large", 320, "bfloat16", 12, 32),
    Search("ssd300_vgg16", 300, "bfloat16", 12, 16),
    Search("retinanet_resnet50_fpn", 512, "bfloat16", 12, 8),
    Search("fasterrcnn_mobilenet_v3_large_fpn", 512, "bfloat16", 12, 8),
)
TINY_SEARCHES = (Search("ssd_tiny", 64, "float32", 0.05, 4),)
