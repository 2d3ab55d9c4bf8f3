"""A real PostgreSQL server on 127.0.0.1 for tests: Debian's package, a folder of its own, no root.

``initdb`` and ``postgres`` refuse to run as root; there, the account ``postgres`` (which Debian's
package makes) or else ``nobody`` runs them. The data goes away with the folder.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "p@ss/word:1"  # one that a URL has to quote
_ACCOUNTS = ("postgres", "nobody")
_START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server. ``url`` gives the address of a fresh, empty database in it."""

    port: int

    def url(self, database: str) -> str:
        """Make ``database`` and return its ``postgresql+psycopg://`` URL."""
        import psycopg

        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"')
        return f"postgresql+psycopg://ctx:p%40ss%2Fword%3A1@127.0.0.1:{self.port}/{database}"

    def _conninfo(self, database: str) -> str:
        return f"host=127.0.0.1 port={self.port} user=ctx password='{PASSWORD}' dbname={database}"


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server and stop it; skips the test where PostgreSQL is not installed."""
    pytest.importorskip("psycopg", reason="no psycopg: install contextctl[postgres]")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="contextctl-pg-"))
    data, secret = folder / "data", folder / "password"
    secret.write_text(PASSWORD, encoding="utf-8")
    user = _account(folder)
    port = _free_port()
    try:
        _run(
            [binaries / "initdb", "-D", data, "-U", "ctx", "-E", "UTF8", "--locale=C.UTF-8",
             "--auth=scram-sha-256", f"--pwfile={secret}", "--no-sync"],
            user,
        )  # fmt: skip
        log = (folder / "log").open("wb")
        server = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-p", str(port), "-k", folder,
             "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=50"],
            stdout=log, stderr=subprocess.STDOUT, user=user, cwd=folder, env={"LANG": "C.UTF-8"},
        )  # fmt: skip
        try:
            found = Postgres(port)
            _wait(found, server, folder / "log")
            yield found
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(20)
            server.kill()
            server.wait()
            log.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries() -> Path | None:
    """The newest installed version's folder with both programs, Debian's or one on the path."""
    debian = Path("/usr/lib/postgresql")
    folders = [at / "bin" for at in debian.iterdir()] if debian.is_dir() else []
    found = shutil.which("postgres")
    if found:
        folders.append(Path(found).resolve().parent)
    whole = [at for at in folders if (at / "initdb").exists() and (at / "postgres").exists()]
    return max(whole, default=None)


def _account(folder: Path) -> int | None:
    """Who runs the server: ourselves, or, when we are root, somebody who is not."""
    if os.geteuid() != 0:
        return None
    for name in _ACCOUNTS:
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name).pw_uid
            for path in (folder, *folder.iterdir()):
                os.chown(path, user, -1)
            return user
    pytest.skip("PostgreSQL does not run as root, and there is no other account")


def _run(command: list[str | Path], user: int | None) -> None:
    done = subprocess.run(command, user=user, capture_output=True, check=False, cwd="/")
    if done.returncode:
        pytest.fail(f"{command[0]}: {done.stderr.decode()}")


def _wait(server: Postgres, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            psycopg.connect(server._conninfo("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"PostgreSQL did not start: {log.read_text(encoding='utf-8')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
