"""Importing contextctl stays cheap: heavy packages load only where they are used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"litellm", "jsonschema", "rich", "mcp", "tiktoken", "diskcache", "tokenizers", "requests"}
SCRIPT = """
import importlib, json, pkgutil, sys
import contextctl
names = ["contextctl", "contextctl.errors"]
for room in ("contextctl.core", "contextctl.model"):
    package = importlib.import_module(room)
    names += [m.name for m in pkgutil.walk_packages(package.__path__, room + ".")]
for name in names:
    importlib.import_module(name)
print(json.dumps([names, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_values_and_the_pure_core_import_nothing_heavy() -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
    )
    imported, loaded = json.loads(done.stdout)
    assert "contextctl.core.assemble" in imported
    assert "contextctl.model.record" in imported
    assert HEAVY.isdisjoint(loaded)
