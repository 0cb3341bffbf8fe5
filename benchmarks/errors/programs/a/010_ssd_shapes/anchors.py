import numpy as np

FEATURE_MAPS = (16, 8)
ASPECT_RATIOS = (1.0, 2.0, 0.5)
SCALES = (0.2, 0.45, 0.8)


def default_boxes():
    """All default boxes as (cx, cy, w, h), relative to the image."""
    boxes = []
    for k, cells in enumerate(FEATURE_MAPS):
        centers = (np.arange(cells) + 0.5) / cells
        extra = np.sqrt(SCALES[k] * SCALES[k + 1])
        for cy in centers:
            for cx in centers:
                for ratio in ASPECT_RATIOS:
                    boxes.append((cx, cy, SCALES[k] * ratio ** 0.5, SCALES[k] / ratio ** 0.5))
                boxes.append((cx, cy, extra, extra))
    return np.array(boxes, np.float32)


def encode(gt, priors):
    """Offsets of the matched ground truth plus a foreground flag, one row for each default box."""
    lo = np.maximum(priors[:, :2] - priors[:, 2:] / 2, gt[:2] - gt[2:] / 2)
    hi = np.minimum(priors[:, :2] + priors[:, 2:] / 2, gt[:2] + gt[2:] / 2)
    inter = np.prod(np.clip(hi - lo, 0, None), axis=1)
    iou = inter / (np.prod(priors[:, 2:], axis=1) + np.prod(gt[2:]) - inter)
    target = np.zeros((len(priors), 5), np.float32)
    target[:, :2] = (gt[:2] - priors[:, :2]) / priors[:, 2:] / 0.1
    target[:, 2:4] = np.log(gt[2:] / priors[:, 2:]) / 0.2
    target[:, 4] = iou > 0.4
    target[iou.argmax(), 4] = 1.0
    return target
