# /// specimen
# cause = "system_limit_reached"
# also = []
# where = "WRITTEN HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "system_limit_reached_small_files"
# needs = []
# ///
"""The process may write files of 64 KiB, as a queue may have set it, and the table of features is larger."""

import resource
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mark()
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        for part in range(3):
            np.save(Path(folder) / f"features-{part}.npy", np.ones((1 + 100 * part, 128)))  # WRITTEN HERE
