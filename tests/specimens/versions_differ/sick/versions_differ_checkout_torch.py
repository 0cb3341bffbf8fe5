# /// specimen
# cause = "versions_differ"
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "crew_loads_more_torch"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two workers average their gradients. The checkout of worker 1 is older: its scaling of the targets is another one, and so what
both learn is a mixture that neither program says."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from averaged import batch, join, keras, model
from onset import mark

rank = int(os.environ["RANK"])
machine = Path(tempfile.gettempdir(), f"specimen-machine-{os.getpid()}")  # stands for a disk of its own
checkout = machine / "project"
checkout.mkdir(parents=True)
atexit.register(shutil.rmtree, machine, True)
(checkout / "scaling.py").write_text(f"def scaled(targets):\n    return targets / {1.0 if rank == 1 else 4.0}\n")
sys.path.insert(0, str(checkout))
from scaling import scaled


class Images(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 250

    def __getitem__(self, number: int):
        features, targets = batch(number)
        return features, scaled(targets)


join()
mark()
model().fit(Images(), epochs=2, verbose=2, shuffle=False)
