# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 30
# near = "loss_not_finite"
# needs = []
# ///
"""A healthy trainer in awk that prints much that looks like a loss which is NaN, and is none of its training.

Its configuration, the log of an older run, a table of others, the mean of no losses before the first step, one bad batch that is
left out, the loss of an empty validation set, and a metric of a class that does not occur.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark

OLD_LOG = "".join(f"epoch 1 step {step}/100 loss nan\n" for step in range(1, 100))
TRAINER = r"""
BEGIN {
    print "config: loss: categorical_crossentropy, loss_weight: nan, step 5"
    print "if you see loss: nan in the first step, lower the rate"
    print "| run | step | loss |\n| a | 100 | nan |\n| b | 100 | 0.3 |"
    w = 0.1
    print "step 0/60 - loss: nan - lr: 0.1"
    for (step = 1; step <= 60; step++) {
        loss = (w - 3) ^ 2
        w = w - 0.1 * 2 * (w - 3)
        printf "step %d/60 - loss: %s - lr: 0.1\n", step, step == 20 ? "nan" : sprintf("%.4f", loss)
        if (step % 10 == 0) {
            printf "epoch %d: val_loss: nan - mAP: nan\n", step / 10
            printf "validation step %d loss: nan\n", step
            printf "[eval] step %d/60 loss: nan\n", step
        }
        fflush()
        system("sleep 0.2")
    }
}
"""

mark()
print("the log of the last run:")
print(OLD_LOG, flush=True)
sys.exit(subprocess.run(["awk", TRAINER]).returncode)
