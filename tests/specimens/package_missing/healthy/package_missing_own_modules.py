# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "package_missing"
# needs = []
# ///
"""Files of the program's own that bear no name of a library, and names of one that it may lack, asked for with care."""

import importlib
import json
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "colours.py").write_text("def jitter(image):\n    return image\n")
        sys.path.insert(0, folder)
        colours = importlib.import_module("colours")
        try:
            colours.rotate(3)
        except AttributeError:
            print(colours.jitter(3))
        print(getattr(json, "loadz", json.loads)("3"))
