"""``python -m contextctl``."""

from contextctl.cli.app import main

main()
