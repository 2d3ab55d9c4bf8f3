"""The workspace on a real folder: what is acknowledged stays, whole, and only for its session."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import random
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.errors import StoreError
from contextctl.io.workspace.disk import DiskStore
from contextctl.io.workspace.files import all_labels, all_refs, collect, content_of, export_refs
from contextctl.io.workspace.labels import LabelError, clean_label
from contextctl.io.workspace.session import Workspace
from contextctl.model.assembly import Offload

KEY = "00112233445566778899aabbccddeeff"
ROOT = Path(__file__).resolve().parents[3]


def offload(text: str, session: str = "s1", key: str = KEY) -> Offload:
    sha256 = content_hash(text)
    return Offload(make_ref(session, key, sha256), sha256, text)


def stored(workspace: Workspace, text: str) -> str:
    one = offload(text, workspace.session)
    workspace.put(one.ref, one.sha256, one.text)
    return one.ref


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def workspace(folder: Path) -> Workspace:
    return Workspace.open(folder, "s1", KEY)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "two\r\nlines\n",
        "订单 👩‍👩‍👧 \u202e",
        "half \ud800 pair",
        "x" * 3_000_000,
        "\0\x1b[31m",
    ],
    ids=["empty", "one", "crlf", "scripts", "surrogate", "large", "control"],
)
def test_what_goes_in_comes_out(workspace: Workspace, folder: Path, text: str) -> None:
    ref = stored(workspace, text)
    assert workspace.get(ref) == text
    assert Workspace.open(folder, "s1", KEY).get(ref) == text


def test_putting_again_stores_nothing_new(workspace: Workspace, folder: Path) -> None:
    ref = stored(workspace, "y" * 100_000)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.val")}
    assert stored(workspace, "y" * 100_000) == ref
    assert stored(Workspace.open(folder, "s1", KEY), "y" * 100_000) == ref
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.val")} == before
    assert len(workspace.refs()) == 1


def test_two_sessions_share_content_and_see_only_their_own_refs(
    workspace: Workspace, folder: Path
) -> None:
    noise = random.Random(7).randbytes(60_000).hex()
    mine = stored(workspace, noise)
    other = workspace.for_session("s2", "ff" * 16)
    theirs = offload(noise, "s2", "ff" * 16)
    other.put(theirs.ref, theirs.sha256, theirs.text)
    assert len(list(folder.rglob("*.val"))) == 1
    assert workspace.get(theirs.ref) is None
    assert other.get(mine) is None
    assert other.get(theirs.ref) == noise
    assert [row.ref for row in workspace.refs()] == [mine]


def test_a_session_of_the_same_name_with_another_key_is_another_session(
    workspace: Workspace, folder: Path
) -> None:
    ref = stored(workspace, "mine")
    assert Workspace.open(folder, "s1", "ff" * 16).get(ref) is None


def test_a_ref_never_changes_what_it_leads_to(workspace: Workspace) -> None:
    ref = stored(workspace, "first")
    with pytest.raises(StoreError, match="already leads to other content"):
        Workspace(workspace.store, "s1", KEY).put(ref, content_hash("second"), "second")
    assert workspace.get(ref) == "first"


def test_content_that_has_not_its_hash_is_not_stored(workspace: Workspace) -> None:
    with pytest.raises(ValueError, match="has not the hash"):
        workspace.put(offload("a").ref, content_hash("b"), "a")
    assert workspace.refs() == ()


@pytest.mark.parametrize(
    "ref", ["", "s1-aaaaaaaaaa", "../x", "a/b", "a\0b", "订单", "half\ud800", "x" * 5000, "label/x"]
)
def test_what_is_no_ref_of_this_session_is_missing(workspace: Workspace, ref: str) -> None:
    stored(workspace, "something")
    assert workspace.get(ref) is None
    assert workspace.read(ref) is None


def test_bytes_are_kept_with_their_media_type(workspace: Workspace, tmp_path: Path) -> None:
    picture = bytes(range(256)) * 300
    sha256 = hashlib.sha256(picture).hexdigest()
    ref = make_ref("s1", KEY, sha256)
    workspace.put_bytes(ref, sha256, picture, "image/png")
    assert workspace.get_bytes(ref) == picture
    assert workspace.get(ref) is None
    assert workspace.export(tmp_path / "out") == (tmp_path / "out" / f"{ref}.bin",)


def test_export_writes_every_ref_whole(workspace: Workspace, tmp_path: Path) -> None:
    texts = ["plain\r\n", "订单\n" * 40_000, ""]
    refs = [stored(workspace, text) for text in texts]
    one = offload('{"a": 1}')
    workspace.put(one.ref, one.sha256, one.text, "application/json")
    out = tmp_path / "out"
    workspace.export(out)
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [f"{ref}.txt" for ref in refs] + [f"{one.ref}.json"]
    )
    for ref, text in zip(refs, texts, strict=True):
        assert (out / f"{ref}.txt").read_bytes() == text.encode()


def test_the_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    open_to_all = tmp_path / "w"
    open_to_all.mkdir(mode=0o777)
    Workspace.open(open_to_all, "s1", KEY)
    assert stat.S_IMODE(open_to_all.stat().st_mode) == 0o700


# What a hostile or careless hand may do to the folder


class Trap:
    """Unpickling this makes a file: proof that code ran."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.path,)


def rewrite_row(folder: Path, key: str, /, **columns: object) -> None:
    sets = ", ".join(f"{name} = ?" for name in columns)
    with sqlite3.connect(folder / "cache.db") as rows:
        done = rows.execute(f"UPDATE Cache SET {sets} WHERE key = ?", (*columns.values(), key))
        assert done.rowcount == 1
    rows.close()


def test_a_pickled_value_is_refused(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    ref = stored(workspace, "content")
    trap = pickle.dumps(Trap(tmp_path / "ran"))
    rewrite_row(folder, f"blob/{content_hash('content')}", mode=4, value=trap)
    with pytest.raises(StoreError, match="did not write"):
        Workspace.open(folder, "s1", KEY).get(ref)
    (folder / "evil.val").write_bytes(trap)
    rewrite_row(folder, f"blob/{content_hash('content')}", mode=4, value=None, filename="evil.val")
    with pytest.raises(StoreError, match="did not write"):
        Workspace.open(folder, "s1", KEY).get(ref)
    assert not (tmp_path / "ran").exists()


def test_a_pickled_key_is_refused(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    stored(workspace, "content")
    trap = sqlite3.Binary(pickle.dumps(Trap(tmp_path / "ran")))
    rewrite_row(folder, f"blob/{content_hash('content')}", key=trap, raw=0)
    with pytest.raises(StoreError, match="pickled key"):
        collect(DiskStore(folder))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("absolute", [False, True])
def test_a_file_outside_is_neither_read_nor_removed(
    workspace: Workspace, folder: Path, tmp_path: Path, absolute: bool
) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_bytes(b"rSECRET")
    ref = stored(workspace, "content")
    name = str(outside) if absolute else "../secret.txt"
    key = f"blob/{content_hash('content')}"
    rewrite_row(folder, key, mode=2, value=None, filename=name)
    again = Workspace.open(folder, "s1", KEY)
    with pytest.raises(StoreError, match="outside the workspace"):
        again.get(ref)
    with pytest.raises(StoreError, match="outside the workspace"):
        again.store.delete_many([key])
    assert outside.read_bytes() == b"rSECRET"


def test_a_link_that_leads_outside_is_not_followed(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_bytes(b"rSECRET")
    ref = stored(workspace, "content")
    (folder / "inside.val").symlink_to(tmp_path / "secret.txt")
    rewrite_row(
        folder, f"blob/{content_hash('content')}", mode=2, value=None, filename="inside.val"
    )
    with pytest.raises(StoreError, match="outside the workspace"):
        Workspace.open(folder, "s1", KEY).get(ref)


@pytest.mark.parametrize("damage", ["truncated", "empty", "other", "gone"])
def test_a_damaged_value_is_a_reported_miss_and_heals(
    workspace: Workspace, folder: Path, damage: str
) -> None:
    text = random.Random(1).randbytes(80_000).hex()
    ref = stored(workspace, text)
    (file,) = folder.rglob("*.val")
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes({"truncated": content[:500], "empty": b"", "other": b"rnot it"}[damage])
    again = Workspace.open(folder, "s1", KEY)
    assert again.get(ref) is None
    assert again.damaged == {ref}
    assert export_refs(again.store, again.refs(), folder / "out").damaged == (ref,)
    stored(again, text)
    assert again.get(ref) == text


def test_a_folder_that_is_no_workspace_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "cache.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        Workspace.open(tmp_path / "w", "s1", KEY)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot open the workspace"):
        Workspace.open(tmp_path / "file", "s1", KEY)


# Nothing is evicted, quotas refuse


def test_another_opener_with_other_settings_makes_nothing_be_evicted(
    workspace: Workspace, folder: Path
) -> None:
    import diskcache

    refs = [stored(workspace, f"{n} " * 30_000) for n in range(8)]
    careless = diskcache.Cache(str(folder), size_limit=1000, cull_limit=10)
    careless.close()
    again = Workspace.open(folder, "s1", KEY)
    refs += [stored(again, f"{n} more " * 30_000) for n in range(8)]
    assert all(again.get(ref) is not None for ref in refs)


def test_a_quota_refuses_new_content_and_keeps_the_old(folder: Path) -> None:
    workspace = Workspace.open(folder, "s1", KEY, size_limit=400_000)
    noise = random.Random(2)
    kept: list[tuple[str, str]] = []

    def fill() -> None:
        for _ in range(20):
            text = noise.randbytes(25_000).hex()
            kept.append((stored(workspace, text), text))

    with pytest.raises(StoreError, match=r"full.*size_limit \(400,000\).*workspace gc"):
        fill()
    assert 3 <= len(kept) < 16
    assert all(workspace.get(ref) == text for ref, text in kept)


def limited_writer(folder: str, results: multiprocessing.Queue[str]) -> None:
    """No file may pass 300 kB, as on a disk that is full."""
    workspace = Workspace.open(folder, "s1", KEY)
    stored(workspace, "before " * 10)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    try:
        stored(workspace, random.Random(3).randbytes(400_000).hex())
    except StoreError as error:
        results.put(str(error))


def test_a_disk_that_is_full_is_an_error_and_keeps_the_store_whole(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[str] = context.Queue()
    child = context.Process(target=limited_writer, args=(str(folder), results))
    child.start()
    message = results.get(timeout=60)
    child.join(60)
    assert "cannot write the workspace" in message
    assert "File too large" in message
    again = Workspace.open(folder, "s1", KEY)
    assert again.get(offload("before " * 10).ref) == "before " * 10
    assert len(again.refs()) == 1
    assert not list(folder.rglob("*.val")), "the part that was written is gone"


# Labels


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "/", "/etc/hostname", "../x", "a/../b", "a/..", "~/x"),
        *("C:\\win.ini", "C:x", "..\\x", "a\\b", "a\0b", "a\nb", "half\ud800", "x" * 201),
    ],
)
def test_names_that_could_point_elsewhere_are_refused(workspace: Workspace, name: str) -> None:
    ref = stored(workspace, "content")
    with pytest.raises(LabelError, match="plain relative"):
        workspace.label(name, ref)
    assert workspace.read(name) is None


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("a..b", "a..b"),
        ("./notes/a..b.txt", "notes/a..b.txt"),
        ("notes//x", "notes/x"),
        ("...", "..."),
        ("计划/第一.md", "计划/第一.md"),
        ("e\u0301", "\u00e9"),
    ],
)
def test_plain_names_have_one_spelling(workspace: Workspace, name: str, clean: str) -> None:
    assert clean_label(name) == clean
    workspace.label(name, stored(workspace, "content"))
    assert workspace.read(clean) == "content"
    assert workspace.read(name) == "content"


def test_a_label_given_again_leads_to_the_new_content(workspace: Workspace) -> None:
    old, new = stored(workspace, "old"), stored(workspace, "new")
    workspace.label("plan", old)
    workspace.label("plan", new)
    assert workspace.read("plan") == "new"
    assert workspace.read(old) == "old"


def test_a_ref_cannot_be_taken_as_a_name(workspace: Workspace) -> None:
    mine, other = stored(workspace, "mine"), stored(workspace, "other")
    with pytest.raises(LabelError):
        workspace.label(mine, other)
    assert workspace.read(mine) == "mine"


def test_labels_belong_to_their_session(workspace: Workspace) -> None:
    workspace.label("plan", stored(workspace, "content"))
    assert workspace.for_session("s2", "ff" * 16).read("plan") is None


# Garbage


def test_collecting_takes_old_refs_of_one_run_and_what_nothing_leads_to(folder: Path) -> None:
    first = Workspace.open(folder, "s1", KEY, run="first")
    second = Workspace.open(folder, "s2", KEY, run="second")
    shared_text, own_text = "shared " * 9000, "own " * 9000
    stored(first, own_text)
    stored(first, shared_text)
    kept = stored(second, shared_text)
    first.label("name", offload(own_text).ref)
    store = first.store
    assert all_refs(store, older_than_s=3600) == ()
    assert all_labels(store) == {offload(own_text).ref: ("name",)}
    done = collect(store, {row.ref for row in all_refs(store, run="first")})
    assert (done.refs, done.blobs) == (2, 1)
    assert [row.ref for row in all_refs(store)] == [kept]
    assert second.get(kept) == shared_text
    assert Workspace.open(folder, "s1", KEY).read("name") is None
    assert collect(store, [row.ref for row in all_refs(store, older_than_s=0)]).refs == 1
    assert list(store.keys("")) == []


def test_collecting_removes_files_of_killed_writers_and_nothing_else(
    workspace: Workspace, folder: Path
) -> None:
    ref = stored(workspace, random.Random(4).randbytes(60_000).hex())
    left = folder / "ab" / "cd" / f"{'0' * 28}.val"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"part")
    (folder / "notes.txt").write_text("a person's file")
    assert collect(workspace.store).files == 1
    assert not left.exists()
    assert (folder / "notes.txt").exists()
    assert workspace.get(ref) is not None


def test_people_see_every_session(workspace: Workspace) -> None:
    ref = stored(workspace, "content")
    found = content_of(workspace.store, ref)
    assert found is not None
    assert found[1] == b"content"
    assert content_of(workspace.store, "../x") is None


# Many processes, killed at any moment


WRITER = """
import sys
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.io.workspace.session import Workspace
folder, key, name = sys.argv[1:]
workspace = Workspace.open(folder, "s1", key)
number = 0
while True:
    text = f"{name} {number} " * (10 if number % 3 else 9000)
    sha256 = content_hash(text)
    ref = make_ref("s1", key, sha256)
    workspace.put(ref, sha256, text)
    print(ref, number, flush=True)
    number += 1
"""


def started(folder: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), KEY, name],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_no_acknowledged_write_is_lost_to_kill_9(folder: Path) -> None:
    """Two writers at a time, each killed at some moment, ten kills in all; all share one folder."""
    moment = random.Random(5)
    acknowledged: dict[str, str] = {}
    for turn in range(5):
        writers = {name: started(folder, name) for name in (f"a{turn}", f"b{turn}")}
        time.sleep(0.6 + moment.random() / 4)
        for writer in writers.values():
            writer.send_signal(signal.SIGKILL)
        for name, writer in writers.items():
            out, _ = writer.communicate(timeout=30)
            for line in out.splitlines(keepends=True):
                if line.endswith("\n"):
                    ref, number = line.split()
                    acknowledged[ref] = f"{name} {number} " * (10 if int(number) % 3 else 9000)
    assert len(acknowledged) > 60
    workspace = Workspace.open(folder, "s1", KEY)
    assert all(workspace.get(ref) == text for ref, text in acknowledged.items())
    assert all(workspace.get(row.ref) is not None for row in workspace.refs())
    collect(workspace.store)
    assert all(workspace.get(ref) == text for ref, text in acknowledged.items())


def put_some(folder: str, offset: int) -> int:
    workspace = Workspace.open(folder, "s1", KEY)
    for number in range(40):
        stored(workspace, f"text {number + offset} " * 50)
    return len(workspace.refs())


def test_many_processes_write_the_same_and_other_content(folder: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.starmap(put_some, [(str(folder), offset) for offset in (0, 10, 20, 30)])
    workspace = Workspace.open(folder, "s1", KEY)
    assert len(workspace.refs()) == 70
    assert all(workspace.get(offload(f"text {n} " * 50).ref) for n in range(70))


def test_collecting_while_others_write_loses_nothing(folder: Path) -> None:
    writer = started(folder, "w")
    try:
        deadline = time.monotonic() + 2.5
        store = DiskStore(folder)
        while time.monotonic() < deadline:
            collect(store)
    finally:
        writer.kill()
    out, _ = writer.communicate(timeout=30)
    refs = [line.split()[0] for line in out.splitlines(keepends=True) if line.endswith("\n")]
    assert refs  # how many is a matter of the machine; that none of them is lost is the law
    workspace = Workspace.open(folder, "s1", KEY)
    assert all(workspace.get(ref) is not None for ref in refs)


def test_threads_of_one_process_share_an_open_workspace(workspace: Workspace) -> None:
    def write(offset: int) -> None:
        for number in range(30):
            ref = stored(workspace, f"text {number + offset} " * 400)
            assert workspace.get(ref) is not None

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(write, offset) for offset in range(0, 80, 10)]:
            done.result(timeout=120)
    assert len(workspace.refs()) == 100
