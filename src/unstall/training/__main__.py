"""The worker of `unstall train`: python -m unstall.training RUN_FOLDER [--quiet]"""

from __future__ import annotations

import sys

from unstall.training.loop.worker import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
