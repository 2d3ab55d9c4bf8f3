"""Snapshots are a cache: what cannot be read is not there, what must not be kept is not."""

from __future__ import annotations

from contextctl.io.stores.snapshots import Snapshots

ADDRESS = "ab" + "0" * 62


def test_what_was_kept_is_found_and_nothing_else(tmp_path):
    store = Snapshots(tmp_path / "s")
    assert store.get(ADDRESS) is None
    store.put(ADDRESS, {"summary": {"done": ["查了物流"]}})
    assert store.get(ADDRESS) == {"summary": {"done": ["查了物流"]}}
    assert "查了物流" in (tmp_path / "s/ab" / f"{ADDRESS}.json").read_text("utf-8")


def test_a_broken_file_is_as_good_as_none(tmp_path):
    store = Snapshots(tmp_path)
    for text in ("", "{", "[1]", "\udcff"):
        path = tmp_path / "ab" / f"{ADDRESS}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        assert store.get(ADDRESS) is None


def test_a_summary_with_a_secret_in_it_is_not_kept(tmp_path):
    store = Snapshots(tmp_path, ('k-"1234',))
    store.put(ADDRESS, {"summary": {"done": ['logged in with k-"1234']}})
    assert store.get(ADDRESS) is None


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "s").write_text("a file")
    store = Snapshots(tmp_path / "s")
    store.put(ADDRESS, {"summary": {}})
    assert store.get(ADDRESS) is None
