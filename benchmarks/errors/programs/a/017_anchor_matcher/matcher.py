import numpy as np


def pairwise_iou(a, b):
    lo = np.maximum(a[:, None, :2], b[None, :, :2])
    hi = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = np.prod(np.clip(hi - lo, 0, None), axis=-1)
    area_a = np.prod(a[:, 2:] - a[:, :2], axis=-1)
    area_b = np.prod(b[:, 2:] - b[:, :2], axis=-1)
    return inter / (area_a[:, None] + area_b[None] - inter)


class Matcher:
    """Gives every anchor the box it overlaps most."""

    def __init__(self, anchors, threshold=0.3):
        self.anchors = anchors
        self.threshold = threshold

    def __call__(self, boxes):
        targets, weights = [], []
        for sample in boxes.numpy():
            iou = pairwise_iou(self.anchors, sample)
            best = iou.argmax(axis=1)
            targets.append(sample[best] - self.anchors)
            weights.append(iou.max(axis=1) > self.threshold)
        return np.array(targets, np.float32), np.array(weights, np.float32)
