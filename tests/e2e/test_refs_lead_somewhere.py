"""Every ref that any window shows leads to stored content, which export writes out whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.io.runs.folder import RunFolder
from contextctl.io.runs.records import read_record
from contextctl.model.record import Opened

if TYPE_CHECKING:
    from tests.conftest import Cli

PROFILE = """\
version: 1
model: {name: openai/gpt-4.1-mini, window: 12288}
"""
REF = re.compile(r"\bs[0-9a-f]{3}-[a-z]{10}\b")


def test_every_ref_in_a_window_is_exported_whole(cli: Cli, shared: Path, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROFILE, encoding="utf-8")
    trace = shared / "data" / "01_trajectories" / "openai" / "livemcpbench.jsonl"
    done = cli("replay", "p.yaml", trace, "--windows", "--out", "run")
    assert done.code in (0, 1, 5), done.err
    assert cli("workspace", "export", "run", "--out", "out").code == 0
    exported = {path.stem: path for path in (tmp_path / "out").iterdir()}
    shown = 0
    for task in RunFolder(tmp_path / "run").tasks():
        opened = read_record(task.record)[0][0]
        assert isinstance(opened, Opened)
        for ref in set(REF.findall(task.windows.read_text(encoding="utf-8"))):
            text = exported[ref].read_bytes().decode("utf-8", "surrogatepass")
            assert make_ref(opened.session, opened.key, content_hash(text)) == ref
            shown += 1
    assert shown > 20
