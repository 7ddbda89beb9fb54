"""Every store keeps the same contract: in memory, in a folder, on two makes of S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from dask_blackbox.store import MemoryStore, Store, open_store
from dask_blackbox.testing import EmbeddedS3, StoreContract, embedded_s3
from dask_blackbox.testing.s3_server import running_server
from project_uv import UV

MINISTACK = Path(__file__).parents[1] / "support" / "ministack_server.py"


class TestAStoreInMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()

    def raw_put(self, store: Any, name: str, blob: bytes) -> None:
        store.blobs[name] = blob

    def raw_get(self, store: Any, name: str) -> bytes:
        return bytes(store.blobs[name])


class TestAStoreInAFolder(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return open_store(tmp_path / "made" / "when needed")

    def raw_put(self, store: Any, name: str, blob: bytes) -> None:
        path = Path(store.url) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob)

    def raw_get(self, store: Any, name: str) -> bytes:
        return (Path(store.url) / name).read_bytes()


@cache
def _client(server: EmbeddedS3) -> Any:
    return server.client()


class S3Contract(StoreContract):
    """The contract on an S3 server; each test has a prefix of its own."""

    @pytest.fixture
    def store(self, server: EmbeddedS3) -> Store:
        url = f"{server.url}/{uuid4().hex}/recordings of Zoë"
        store = open_store(url, settings=server.settings)
        # The contract's raw access: another client, below the same prefix.
        self.bucket, self.client = server.bucket, _client(server)
        self.prefix = url.removeprefix(f"{server.url}/") + "/"
        return store

    def raw_put(self, store: Any, name: str, blob: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=self.prefix + name, Body=blob)

    def raw_get(self, store: Any, name: str) -> bytes:
        answer = self.client.get_object(Bucket=self.bucket, Key=self.prefix + name)
        blob: bytes = answer["Body"].read()
        return blob

    def test_other_peoples_objects_are_not_listed(self, store: Store) -> None:
        for name in ("", "our data+.csv", "a/b c", "a//b", "data/"):
            self.raw_put(store, name, b"theirs")
        store.put("data/ours", b"1")

        assert list(store.names()) == ["data/ours"]
        assert list(store.folders()) == ["a", "data"]

    def test_a_browser_is_reported_what_it_gets(self, store: Store) -> None:
        store.put("report.html", b"<p>\xc3\xbc")
        store.put("notes", b"\xc3\xbc", content_type="text/plain")
        store.put("card.json", b"{}")
        store.put("a.seg", b"")

        heads = [
            self.client.head_object(Bucket=self.bucket, Key=self.prefix + name)
            for name in ("report.html", "notes", "card.json", "a.seg")
        ]
        assert [head["ContentType"] for head in heads] == [
            "text/html; charset=utf-8",
            "text/plain; charset=utf-8",
            "application/json",
            "application/octet-stream",
        ]

    def test_a_link_opens_without_credentials(self, store: Store) -> None:
        import urllib.request

        store.put("report.html", b"<p>open")
        link = store.link("report.html", expires=10**9)  # more than S3 allows

        assert link is not None
        assert "X-Amz-Expires=604800" in link
        assert "X-Amz-Signature" in link
        with urllib.request.urlopen(link, timeout=10) as answer:
            assert answer.read() == b"<p>open"
            assert answer.headers["Content-Type"].startswith("text/html")


@pytest.fixture(scope="module")
def moto() -> Iterator[EmbeddedS3]:
    with embedded_s3() as server:
        yield server


class TestAStoreOnMoto(S3Contract):
    @pytest.fixture
    def server(self, moto: EmbeddedS3) -> EmbeddedS3:
        return moto


@pytest.fixture(scope="module")
def ministack() -> Iterator[EmbeddedS3]:
    command = [UV, "run", "--quiet", "--script", "--locked", str(MINISTACK)]
    key, secret = "AKIAMINISTACK0000000", "a secret of MiniStack's"
    known = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    with running_server(command, environment=known) as (port, pid):
        server = EmbeddedS3(
            f"http://127.0.0.1:{port}", "recordings", pid, key=key, secret=secret
        )
        server.client().create_bucket(Bucket=server.bucket)
        yield server


class TestAStoreOnMiniStack(S3Contract):
    @pytest.fixture
    def server(self, ministack: EmbeddedS3) -> EmbeddedS3:
        return ministack

    def test_a_link_that_was_tampered_with_stays_shut(self, store: Store) -> None:
        import urllib.error
        import urllib.request

        store.put("report.html", b"<p>open")
        link = store.link("report.html", expires=60) or ""
        forged = link[:-4] + ("0000" if not link.endswith("0000") else "1111")

        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(forged, timeout=10)


@pytest.mark.parametrize(("sse", "key"), [("AES256", None), ("aws:kms", "alias/ours")])
def test_encryption_is_asked_for_as_configured(
    moto: EmbeddedS3, sse: str, key: str | None
) -> None:
    settings = moto.settings | {"sse": sse, "sse-kms-key-id": key}
    open_store(moto.url, settings=settings).put("encrypted", b"1")

    head = moto.client().head_object(Bucket=moto.bucket, Key="encrypted")
    assert head["ServerSideEncryption"] == sse
    assert head.get("SSEKMSKeyId") == key
