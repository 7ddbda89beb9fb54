"""A folder store reads regular files inside it, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from dask_blackbox.errors import BlackboxError, BlobNotFoundError, OverLimitError
from dask_blackbox.store import open_store

_PLACES = ("blob.json", "a/blob.json", "a/b/c/blob.json")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "blob.json").write_text("a secret")
    return folder


@pytest.mark.parametrize("name", _PLACES)
@pytest.mark.parametrize(
    "make",
    [
        lambda path, outside: path.symlink_to(outside / "blob.json"),
        lambda path, outside: path.symlink_to("/dev/zero"),
        lambda path, outside: path.symlink_to(path),
        lambda path, outside: os.mkfifo(path),
    ],
    ids=["link", "link to a device", "link to itself", "FIFO"],
)
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, outside: Path, name: str, make: Callable[[Path, Path], None]
) -> None:
    store = open_store(tmp_path / "store")
    store.put(name, b"{}")
    path = tmp_path / "store" / name
    path.unlink()
    make(path, outside)

    with pytest.raises(OverLimitError, match="only regular files are read"):
        store.get(name)
    assert list(store.names()) == [name]
    store.delete(name)
    assert list(store.names()) == []
    assert (outside / "blob.json").read_text() == "a secret"


@pytest.mark.parametrize("part", ["a", "a/b"])
def test_no_folder_that_is_a_link_is_entered(
    tmp_path: Path, outside: Path, part: str
) -> None:
    store = open_store(tmp_path / "store")
    store.put("first", b"")
    link = tmp_path / "store" / part
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)

    with pytest.raises(BlobNotFoundError):
        store.get(f"{part}/blob.json")
    with pytest.raises(BlackboxError):
        store.put(f"{part}/new.json", b"")
    store.delete(f"{part}/blob.json")

    assert f"{part}/blob.json" not in list(store.names())
    assert list(outside.iterdir()) == [outside / "blob.json"]


def test_a_store_that_is_a_link_itself_is_the_users_choice(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "store").symlink_to(tmp_path / "disk")
    store = open_store(tmp_path / "store")
    store.put("a/b", b"1")

    assert store.get("a/b") == b"1"


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.put("card.json", b"{}")
    with (tmp_path / "card.json").open("wb") as file:
        file.truncate(10 * 2**30)

    with pytest.raises(OverLimitError, match=r"left out, because it has 10,240 MiB"):
        store.get("card.json")
