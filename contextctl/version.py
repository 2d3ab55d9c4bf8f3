"""The version, in a file that imports nothing, so that every room may name it."""

from __future__ import annotations

__version__ = "0.1.0"
