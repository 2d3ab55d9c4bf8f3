"""litellm loads without touching the network, the working directory or standard output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_loading_opens_no_connection_reads_no_env_file_and_prints_nothing(tmp_path):
    (tmp_path / ".env").write_text("FROM_DOT_ENV=1\n", encoding="utf-8")
    code = """if True:
        import os, sys
        seen = []
        def watch(event, args):
            if event in {"socket.connect", "socket.getaddrinfo"}:
                seen.append((event, args))
        sys.addaudithook(watch)
        from contextctl.io.models.litellm_gate import load_litellm
        litellm = load_litellm()
        assert load_litellm() is litellm
        assert litellm.suppress_debug_info
        assert "FROM_DOT_ENV" not in os.environ
        sys.exit(str(seen) if seen else 0)
    """
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
