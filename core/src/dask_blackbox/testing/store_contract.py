# ruff: noqa: S101 - these are tests
"""What every store must do, as tests: subclass `StoreContract` and give it a store.

class TestMyStore(StoreContract):
    @pytest.fixture
    def store(self): return MyStore()
    def raw_put(self, store, name, blob): …     # past the store, by other means
    def raw_get(self, store, name): …
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from dask_blackbox.errors import BlobNotFoundError, ConfigurationError
from dask_blackbox.store import Store

_BAD_NAMES = (
    "",
    "/",
    "/etc/passwd",
    "..",
    "../up",
    "a/../b",
    "a/./b",
    "a//b",
    "a/",
    ".",
    "a b",
    "a\n",
    "a\x00b",
    "a\\b",
    "ü",
    "a+b",
    "a" * 241,
    "/".join(["a" * 100] * 9),
)
_ALPHABET = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "abcdefghijklmnopqrstuvwxyz",
    "0123456789._-=~",
)


class StoreContract:
    """Tests for one store; a subclass has a fixture `store` that returns an empty one."""

    def raw_put(self, store: object, name: str, blob: bytes) -> None:
        """Write a blob without the store."""
        raise NotImplementedError

    def raw_get(self, store: object, name: str) -> bytes:
        """Read a blob without the store."""
        raise NotImplementedError

    def test_a_blob_is_read_back_as_it_was_put(self, store: Store) -> None:
        blob = bytes(range(256)) * 1000
        store.put("runs/job=a/b.bin", blob)

        assert store.get("runs/job=a/b.bin") == blob

    def test_blobs_can_be_read_by_other_readers(self, store: Store) -> None:
        store.put("a/b", b"seen")

        assert self.raw_get(store, "a/b") == b"seen"

    def test_blobs_of_other_writers_can_be_read(self, store: Store) -> None:
        self.raw_put(store, "a/b", b"theirs")

        assert store.get("a/b") == b"theirs"
        assert list(store.names()) == ["a/b"]

    def test_an_empty_blob_is_a_blob(self, store: Store) -> None:
        store.put("marker", b"")

        assert store.get("marker") == b""
        assert list(store.names()) == ["marker"]

    def test_a_second_put_replaces_the_first(self, store: Store) -> None:
        store.put("a", b"first, and longer")
        store.put("a", b"second")

        assert store.get("a") == b"second"
        assert list(store.names()) == ["a"]

    def test_a_missing_blob_raises_blob_not_found(self, store: Store) -> None:
        import pytest

        store.put("there", b"1")
        with pytest.raises(BlobNotFoundError, match="not-there"):
            store.get("not-there")
        with pytest.raises(BlobNotFoundError):
            store.get("no/such/folder")

    def test_every_letter_is_allowed_in_a_name(self, store: Store) -> None:
        for letters in _ALPHABET:
            store.put(f"x/{letters}", letters.encode())

        assert store.get(f"x/{_ALPHABET[2]}") == _ALPHABET[2].encode()
        assert list(store.names()) == sorted(f"x/{letters}" for letters in _ALPHABET)

    def test_the_longest_name_is_accepted(self, store: Store) -> None:
        name = "/".join(["a" * 200] * 3)
        store.put(name, b"1")

        assert store.get(name) == b"1"

    def test_no_name_climbs_out_of_the_store(self, store: Store) -> None:
        import pytest

        for name in _BAD_NAMES:
            for act in (
                lambda name=name: store.put(name, b""),
                lambda name=name: store.get(name),
                lambda name=name: store.delete(name),
                lambda name=name: store.link(name, expires=1),
            ):
                with pytest.raises(ConfigurationError):
                    act()
        for prefix in ("/", "../", "a//", "a/../", "ü"):
            with pytest.raises(ConfigurationError):
                list(store.names(prefix))
            with pytest.raises(ConfigurationError):
                list(store.folders(prefix))

    def test_names_are_sorted_across_folders(self, store: Store) -> None:
        # `-` and `.` sort before `/`, `=` and `~` behind it.
        names = ["a-b", "a.b", "a/c", "a/c-d/e", "a/c/d", "a=b", "a~b", "aa/b", "b"]
        names.remove("a/c")  # a file system has no blob that is a folder as well
        for name in reversed(names):
            store.put(name, b"")

        assert list(store.names()) == sorted(names)

    def test_names_are_listed_by_prefix(self, store: Store) -> None:
        for name in ("run/a", "run/ab", "run/b", "runs/a", "other"):
            store.put(name, b"")

        assert list(store.names("run/")) == ["run/a", "run/ab", "run/b"]
        assert list(store.names("run/a")) == ["run/a", "run/ab"]
        assert list(store.names("run")) == ["run/a", "run/ab", "run/b", "runs/a"]
        assert list(store.names("nothing/")) == []

    def test_names_are_listed_after_a_name(self, store: Store) -> None:
        names = [f"i/{number:02d}/x" for number in range(12)] + ["j/00"]
        for name in names:
            store.put(name, b"")

        assert list(store.names("i/", after="i/09/x")) == names[10:12]
        assert list(store.names("i/", after="i/09")) == names[9:12]
        assert list(store.names(after="i/11/x")) == ["j/00"]
        assert list(store.names("i/", after="j")) == []
        assert list(store.names("i/", limit=2)) == names[:2]
        assert list(store.names("i/", after=names[1], limit=2)) == names[2:4]
        assert list(store.names("i/", limit=0)) == []

    def test_names_are_taken_page_by_page(self, store: Store) -> None:
        names = [f"index/all/{number:04d}" for number in range(1005)]
        with ThreadPoolExecutor(8) as putting:
            list(putting.map(lambda name: self.raw_put(store, name, b""), names))

        assert list(store.names("index/")) == names
        assert next(iter(store.names("index/"))) == names[0]

    def test_folders_are_the_next_parts_that_hold_blobs(self, store: Store) -> None:
        for name in ("a/b/c", "a/b/d", "a/b-c/d", "a/e", "f/g", "a2/x"):
            store.put(name, b"")

        assert list(store.folders()) == ["a", "a2", "f"]
        assert list(store.folders("a/")) == ["b-c", "b"]  # in the order of names
        assert list(store.folders("a/b-")) == ["b-c"]
        assert list(store.folders("a")) == ["a", "a2"]
        assert list(store.folders("a/b/")) == []
        assert list(store.folders("nothing/")) == []

    def test_a_blob_can_be_deleted_twice(self, store: Store) -> None:
        import pytest

        store.put("a/b", b"1")
        store.delete("a/b")
        store.delete("a/b")
        store.delete("never/there")

        with pytest.raises(BlobNotFoundError):
            store.get("a/b")
        assert list(store.names()) == []
        assert list(store.folders()) == []

    def test_checking_leaves_no_blobs(self, store: Store) -> None:
        store.check()

        assert list(store.names()) == []

    def test_no_reader_ever_sees_half_a_blob(self, store: Store) -> None:
        size = 300_000
        blobs = {bytes([letter]) * size for letter in (65, 66)}
        store.put("shared", b"A" * size)
        enough = threading.Event()
        failures: list[BaseException] = []

        def write() -> None:
            try:
                while not enough.is_set():
                    for blob in blobs:
                        store.put("shared", blob)
            except BaseException as error:  # noqa: BLE001 - asserted below
                failures.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        whole = [store.get("shared") in blobs for _ in range(40)]
        listed = [list(store.names()) for _ in range(10)]
        enough.set()
        writer.join()

        assert not failures
        assert all(whole)
        assert listed == [["shared"]] * 10

    def test_many_threads_share_a_store(self, store: Store) -> None:
        names = [f"t/{number}" for number in range(24)]
        threads = [
            threading.Thread(target=store.put, args=(name, name.encode()))
            for name in names
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert {name: store.get(name) for name in store.names()} == {
            name: name.encode() for name in names
        }

    def test_the_url_holds_no_credentials(self, store: Store) -> None:
        assert "testing" not in store.url
        assert "@" not in store.url
