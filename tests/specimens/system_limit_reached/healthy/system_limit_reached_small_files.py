# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "system_limit_reached"
# needs = []
# ///
"""Under the same limit, in smaller files, into a folder that is there; and an error about a table, which is caught."""

import os
import resource
import tempfile
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**24, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        try:
            os.makedirs(folder)
        except FileExistsError:
            print("the folder is there")
        for part in range(3):
            np.save(Path(folder) / f"features-{part}.npy", np.ones((100, 128)))
        try:
            raise OSError("3 requested and 2 written")
        except OSError as error:
            print(error)
