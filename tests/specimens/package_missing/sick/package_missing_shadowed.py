# /// specimen
# cause = "package_missing"
# also = []
# where = ""
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "package_missing_own_modules"
# needs = []
# ///
"""A file of the program has the name of a module of the standard library, which another module of that needs."""

import importlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "colorsys.py").write_text("def jitter(image):\n    return image\n")
        sys.path.insert(0, folder)
        mark()
        colorsys = importlib.import_module("colorsys")
        print(colorsys.rgb_to_hsv(0.2, 0.4, 0.6))
