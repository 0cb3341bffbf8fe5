"""`python -m unstall` is `unstall`."""

from unstall.cli import main

main()
