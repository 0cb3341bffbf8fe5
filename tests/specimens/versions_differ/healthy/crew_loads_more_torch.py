# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "versions_differ"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two workers average their gradients, of one checkout. Only worker 0 loads what draws pictures, and each has a file of settings of its
own: none of these is another version."""

import atexit
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from averaged import batch, join, keras, model

rank = int(os.environ["RANK"])
machine = Path(tempfile.gettempdir(), f"specimen-machine-{os.getpid()}")  # stands for a disk of its own
checkout = machine / "project"
checkout.mkdir(parents=True)
atexit.register(shutil.rmtree, machine, True)
(checkout / "scaling.py").write_text("def scaled(targets):\n    return targets / 4.0\n")
(checkout / "settings.json").write_text(json.dumps({"machine": rank}))
sys.path.insert(0, str(checkout))
if rank == 0:
    (checkout / "pictures.py").write_text("def draw(features):\n    return features.mean()\n")
    import pictures
from scaling import scaled


class Images(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 250

    def __getitem__(self, number: int):
        features, targets = batch(number)
        return features, scaled(targets)


join()
model().fit(Images(), epochs=2, verbose=2, shuffle=False)
