"""The same workspace over fsspec: a local folder, and a real S3 server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.errors import StoreError, UsageError
from contextctl.io.workspace.blobs import open_store
from contextctl.io.workspace.files import all_refs, collect
from contextctl.io.workspace.labels import LabelError
from contextctl.io.workspace.session import Workspace
from contextctl.model.assembly import Offload

pytest.importorskip("fsspec", reason="fsspec is the optional extra 'object-storage'")

KEY = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    boto3 = pytest.importorskip("boto3")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "testing")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")
        server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        environment.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        boto3.client("s3").create_bucket(Bucket="windows")
        yield "s3://windows"
        server.stop()


@pytest.fixture(params=["file", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"file://{tmp_path / 'objects'}"
    return f"{request.getfixturevalue('s3')}/{tmp_path.name}"


def offload(text: str, session: str = "s1", key: str = KEY) -> Offload:
    sha256 = content_hash(text)
    return Offload(make_ref(session, key, sha256), sha256, text)


def test_what_goes_in_comes_out_on_another_machine(url: str, tmp_path: Path) -> None:
    here = Workspace.open(url, "s1", KEY)
    items = [offload(text) for text in ("", "订单\r\n" * 9000, "half \ud800", "plain")]
    here.put_many(items)
    here.put_many(items)
    there = Workspace.open(url, "s1", KEY)
    assert [there.get(one.ref) for one in items] == [one.text for one in items]
    assert {row.ref for row in there.refs()} == {one.ref for one in items}
    there.export(tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_sessions_and_names_hold_here_too(url: str) -> None:
    mine = Workspace.open(url, "s1", KEY)
    one = offload("mine")
    mine.put_many([one])
    mine.label("notes/a..b.txt", one.ref)
    assert mine.read("./notes/a..b.txt") == "mine"
    assert Workspace.open(url, "s2", "ff").get(one.ref) is None
    for name in ("../x", "/etc/hostname", "", "a\0b"):
        assert mine.read(name) is None
        with pytest.raises(LabelError):
            mine.label(name, one.ref)


def test_garbage_is_collected(url: str) -> None:
    workspace = Workspace.open(url, "s1", KEY)
    keep, drop = offload("keep"), offload("drop")
    workspace.put_many([keep, drop])
    done = collect(workspace.store, [drop.ref])
    assert (done.refs, done.blobs) == (1, 1)
    assert [row.ref for row in all_refs(workspace.store)] == [keep.ref]
    assert workspace.get(keep.ref) == "keep"


def test_a_quota_refuses(url: str) -> None:
    workspace = Workspace(open_store(url, size_limit=2000), "s1", KEY)
    workspace.put_many([offload("small")])
    large = offload("".join(chr(0x4E00 + n * 7919 % 20000) for n in range(9000)))
    with pytest.raises(StoreError, match="size_limit"):
        workspace.put_many([large])
    assert workspace.get(offload("small").ref) == "small"


def test_a_bucket_that_is_not_there_is_a_store_error(s3: str) -> None:
    workspace = Workspace.open("s3://no-such-bucket/x", "s1", KEY)
    with pytest.raises(StoreError, match="cannot write the workspace 's3://no-such-bucket/x'"):
        workspace.put_many([offload("x")])


def test_addresses_that_cannot_work_say_why() -> None:
    with pytest.raises(UsageError, match="credentials"):
        open_store("s3://user:secret@host/bucket")
    with pytest.raises(UsageError, match="cannot use the workspace 'nonsense://x'"):
        open_store("nonsense://x")
