"""Leases: one live owner, a dead one's work taken over, one that slept too long found out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextctl.errors import OutsideError
from contextctl.io.stores.leases import LeaseHeldError, Leases
from tests.servers.postgres import Postgres, running_postgres

HOLDER = """
import sys, time
from pathlib import Path
from contextctl.io.stores.leases import Leases
address, folder, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
lease = Leases(address, folder, "run", seconds).claim("t1")
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["files", "postgres"])
def address(request: pytest.FixtureRequest) -> str:
    if request.param == "files":
        return "files"
    server: Postgres = request.getfixturevalue("postgres")
    return server.url(f"lease{time.monotonic_ns()}")


def held_elsewhere(address: str, folder: Path, seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, address, str(folder), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_owner_is_refused_and_told_who_has_it(address: str, tmp_path: Path) -> None:
    leases, others = (Leases(address, tmp_path, "run", 60) for _ in range(2))
    first = leases.claim("t1")
    with pytest.raises(LeaseHeldError, match="another process has"):
        others.claim("t1")
    others.claim("t2").release()
    first.release()
    second = others.claim("t1")
    assert second.previous == ""
    second.release()


def test_a_killed_owner_is_known_to_be_dead_at_once(address: str, tmp_path: Path) -> None:
    process = held_elsewhere(address, tmp_path, 60)
    leases = Leases(address, tmp_path, "run", 60)
    with pytest.raises(OutsideError):
        leases.claim("t1")
    process.kill()
    process.wait()
    lease = leases.claim("t1")
    assert f":{process.pid}:" in lease.previous
    lease.check()
    lease.release()


def test_a_lease_is_renewed_while_its_owner_lives(address: str, tmp_path: Path) -> None:
    lease = Leases(address, tmp_path, "run", 0.6).claim("t1")
    time.sleep(1.5)
    lease.check()
    with pytest.raises(LeaseHeldError):
        Leases(address, tmp_path, "run", 0.6).claim("t1")
    lease.release()


def test_an_owner_on_another_machine_is_waited_for_until_its_time_is_out(
    postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.url("elsewhere")
    sleeper = Leases(url, tmp_path, "run", 0.8, "far-away").claim("t1")
    sleeper._ended.set()  # it is cut off from the database: nobody renews
    leases = Leases(url, tmp_path, "run", 60)
    with pytest.raises(LeaseHeldError, match="far-away"):
        leases.claim("t1")
    sleeper.check()
    time.sleep(1.0)
    taken = leases.claim("t1")
    assert taken.previous.startswith("far-away:")
    with pytest.raises(LeaseHeldError, match="another owner by now"):
        sleeper.check()
    sleeper.release()  # lets go of nothing: it is not the owner
    taken.check()
    with pytest.raises(LeaseHeldError):
        leases.claim("t1")
    taken.release()


def test_a_file_lease_of_another_machine_is_waited_for(tmp_path: Path) -> None:
    """Where a shared folder passes no locks on, what stands in the file counts."""
    far = Leases("files", tmp_path, "run", 1.0, "far-away").claim("t1")
    far._ended.set()
    far._place._file.close()  # type: ignore[attr-defined]  # its lock is not seen here
    leases = Leases("files", tmp_path, "run", 60)
    with pytest.raises(LeaseHeldError, match="far-away"):
        leases.claim("t1")
    time.sleep(1.1)
    leases.claim("t1").release()


def test_a_clock_that_runs_ahead_locks_nothing_for_hours(tmp_path: Path) -> None:
    """The machine died; its clock was a day ahead. The file was last written five minutes ago."""
    folder = tmp_path / "t1"
    folder.mkdir()
    file = folder / "lease.json"
    ahead = {"owner": "other:b:1:x", "until": time.time() + 86_400, "seconds": 60, "term": 3}
    file.write_text(json.dumps(ahead), encoding="utf-8")
    with pytest.raises(LeaseHeldError, match="another machine"):
        Leases("files", tmp_path, "r", 60).claim("t1")
    os.utime(file, (time.time() - 300, time.time() - 300))
    lease = Leases("files", tmp_path, "r", 60).claim("t1")
    assert lease.previous == "other:b:1:x"
    lease.release()


def test_an_owner_that_slept_past_its_time_does_not_take_a_file_back(tmp_path: Path) -> None:
    sleeper = Leases("files", tmp_path, "r", 60).claim("t1")
    taken = {"owner": "other:b:1:x", "until": time.time() + 60, "seconds": 60, "term": 2}
    (tmp_path / "t1" / "lease.json").write_text(json.dumps(taken), encoding="utf-8")
    sleeper._renew()
    with pytest.raises(LeaseHeldError, match="another owner by now"):
        sleeper.check()
    sleeper.release()
    assert json.loads((tmp_path / "t1" / "lease.json").read_text()) == taken
