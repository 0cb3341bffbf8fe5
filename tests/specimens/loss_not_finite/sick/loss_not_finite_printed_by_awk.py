# /// specimen
# cause = "loss_not_finite"
# also = ["learning_rate_too_high"]
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 30
# near = "printed_lines_like_losses"
# needs = []
# ///
"""A trainer that is no Python at all: nobody sees inside, and what it prints is all there is.

Gradient descent on a line in awk, with a step far too long: the weight grows without end, overflows, and the loss that is printed
becomes infinite and then NaN.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark

TRAINER = r"""
BEGIN {
    w = 0.1
    for (step = 1; step <= 60; step++) {
        loss = (w - 3) ^ 2
        printf "step %d/60 - loss: %g - lr: 40\n", step, loss
        fflush()
        w = w - 40 * 2 * (w - 3) * (step < 8 ? 1 : 1e30)
        system("sleep 0.2")
    }
}
"""

mark()
sys.exit(subprocess.run(["awk", TRAINER]).returncode)
