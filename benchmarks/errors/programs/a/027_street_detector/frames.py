import json
import pathlib
import warnings

import numpy as np
from PIL import Image, UnidentifiedImageError


def record_drive(root, n=48):
    rng = np.random.default_rng(60)
    boxes = {}
    for i in range(n):
        name = f"{i:05d}.png"
        frame = rng.integers(30, 80, (48, 64, 3), dtype=np.uint8)
        x, y = (int(v) for v in rng.integers(0, 28, 2))
        frame[y:y + 16, x:x + 30] = (200, 40, 40)
        Image.fromarray(frame).save(root / name)
        boxes[name] = [x / 64, y / 48, 30 / 64, 16 / 48]
    (root / "00009.png").write_bytes(b"")
    (root / "00021.png").write_bytes((root / "00021.png").read_bytes()[:700])
    (root / "00033.png").write_text("<html><body>503 Service Unavailable</body></html>")
    del boxes["00040.png"]
    (root / "boxes.json").write_text(json.dumps(boxes))


def load_drive(root):
    root = pathlib.Path(root)
    boxes = json.loads((root / "boxes.json").read_text())
    x, y, skipped = [], [], []
    for path in sorted(root.glob("*.png")):
        try:
            with Image.open(path) as image:
                pixels = np.asarray(image.convert("RGB"), np.float32) / 255.0
            box = boxes[path.name]
        except (UnidentifiedImageError, OSError, SyntaxError) as e:
            warnings.warn(f"skipping {path.name}: {e}")
            skipped.append(path.name)
        except KeyError:
            skipped.append(path.name)
        else:
            x.append(pixels)
            y.append(box)
    return np.stack(x), np.array(y, np.float32), skipped
