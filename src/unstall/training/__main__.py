"""The worker of `unstall train`: python -m unstall.training RUN_FOLDER [--quiet]"""

from __future__ import annotations

import sys
from pathlib import Path

from unstall.base.console import print_what_the_stream_has
from unstall.base.private_files import make_new_files_private
from unstall.journal.run_folder import RunFolder
from unstall.training.loop.worker import run_worker


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if argument != "--quiet"]
    if len(arguments) != 1:
        sys.stderr.write("unstall: Expected the folder of a run. Usage: python -m unstall.training RUN_FOLDER [--quiet]\n")
        return 2
    print_what_the_stream_has()
    make_new_files_private()
    return run_worker(RunFolder(Path(arguments[0]).resolve()), is_quiet="--quiet" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
