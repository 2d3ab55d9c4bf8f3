"""``python -m contextctl`` is the command ``contextctl``."""

from __future__ import annotations

from contextctl.cli.app import main

main()
