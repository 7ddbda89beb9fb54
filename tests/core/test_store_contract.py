"""Every store keeps the same contract: in memory, in a folder, on two makes of S3 server."""

from __future__ import annotations

import hmac
import sys
import urllib.error
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Iterator
from email.utils import formatdate
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import obstore
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from dask_blackbox.errors import StoreDeniedError, StoreError, StoreNotFoundError
from dask_blackbox.store import MemoryStore, Store, open_store
from dask_blackbox.testing import EmbeddedS3, StoreContract, embedded_s3
from dask_blackbox.testing.s3_server import running_server
from obstore.store import AzureStore
from project_uv import UV

SUPPORT = Path(__file__).parents[1] / "support"
MINISTACK = SUPPORT / "ministack_server.py"
AZURITE = SUPPORT / "azurite_server.py"


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


def _private_key() -> str:
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return made.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


class TestAStoreOnGoogleCloud(S3Contract):
    """By Google's XML API, which is S3's but for the signatures: moto checks none."""

    @pytest.fixture
    def server(self, moto: EmbeddedS3) -> EmbeddedS3:
        return moto

    @pytest.fixture
    def store(self, server: EmbeddedS3, monkeypatch: pytest.MonkeyPatch) -> Store:
        monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "a token that moto does not check")
        self.bucket, self.client = server.bucket, _client(server)
        self.prefix = f"{uuid4().hex}/recordings of Zoë/"
        return open_store(
            f"gs://{server.bucket}/{self.prefix}",
            settings={"endpoint": server.endpoint},
        )

    def test_other_peoples_objects_are_not_listed(self, store: Store) -> None:
        # Not "data/": obstore lists it as "data", so that it cannot be told from a blob.
        for name in ("our data+.csv", "a/b c"):
            self.raw_put(store, name, b"theirs")
        store.put("data/ours", b"1")

        assert list(store.names()) == ["data/ours"]
        assert list(store.folders()) == ["a", "data"]

        self.raw_put(store, "a//b", b"theirs")
        with pytest.raises(StoreError, match="a//b', a name that obstore cannot list"):
            list(store.names())

    def test_a_link_opens_without_credentials(self, store: Store) -> None:
        store.put("report.html", b"<p>open")

        assert store.link("report.html", expires=60) is None  # a token cannot sign

    def test_the_key_of_a_service_account_signs_links(self, store: Store) -> None:
        key = {"client_email": "dask@example.org", "private_key": _private_key()}
        given = {"credentials": {**key, "private_key_id": "1"}}

        link = open_store(store.url, settings=given).link("report.html", expires=60)

        assert link is not None
        assert link.startswith("https://storage.googleapis.com/")
        assert "X-Goog-Credential=dask%40example.org" in link


@pytest.fixture(scope="module")
def azurite() -> Iterator[str]:
    # Where npm has not fetched it yet, that takes long.
    with running_server([sys.executable, str(AZURITE)], timeout=600) as (port, _):
        yield f"http://127.0.0.1:{port}/{_AZURITE['AZURE_STORAGE_ACCOUNT_NAME']}"


_AZURITE = {
    "AZURE_STORAGE_ACCOUNT_NAME": "devstoreaccount1",
    # Of the emulator, as its manual gives it: no secret.
    "AZURE_STORAGE_ACCOUNT_KEY": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
}

_AZURE_ACCOUNT = tuple(_AZURITE.values())


@pytest.mark.nightly
class TestAStoreOnAzure(StoreContract):
    """The emulator of Azure Storage, which checks signatures."""

    @pytest.fixture
    def store(self, azurite: str, monkeypatch: pytest.MonkeyPatch) -> Store:
        for name, value in _AZURITE.items():
            monkeypatch.setenv(name, value)
        self.container = f"c{uuid4().hex}"
        self.raw = AzureStore(
            self.container,
            config={"endpoint": azurite},
            client_options={"allow_http": True},
        )
        _make_container(azurite, self.container)
        return open_store(
            f"az://{self.container}/recordings of Zoë", settings={"endpoint": azurite}
        )

    def raw_put(self, store: Any, name: str, blob: bytes) -> None:
        obstore.put(self.raw, f"recordings of Zoë/{name}", blob)

    def raw_get(self, store: Any, name: str) -> bytes:
        return bytes(obstore.get(self.raw, f"recordings of Zoë/{name}").bytes())

    def test_a_link_opens_without_credentials(self, store: Store, azurite: str) -> None:
        assert store.link("report.html", expires=60) is None  # obstore cannot sign a ë
        plain = open_store(
            f"az://{self.container}/runs=a~b", settings={"endpoint": azurite}
        )
        plain.put("report.html", b"<p>open")
        link = plain.link("report.html", expires=60)

        assert link is not None
        with urllib.request.urlopen(link, timeout=10) as answer:
            assert answer.read() == b"<p>open"
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(link[:-6] + "AAA%3D", timeout=10)

    def test_a_connection_string_in_the_settings_is_enough(
        self, store: Store, azurite: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        account, key = _AZURE_ACCOUNT
        for name in _AZURITE:
            monkeypatch.delenv(name)
        given = f"AccountName={account};AccountKey={key};BlobEndpoint={azurite}"

        other = open_store(store.url, settings={"credentials": given})
        other.check()
        other.put("report.html", b"<p>open")

        assert other.get("report.html") == b"<p>open"

    def test_a_missing_container_is_reported_with_its_remedy(
        self, store: Store, azurite: str
    ) -> None:
        other = open_store("az://no-such-container", settings={"endpoint": azurite})

        for act in (other.check, lambda: list(other.names())):
            with pytest.raises(StoreNotFoundError, match="az storage container create"):
                act()

    def test_a_wrong_key_is_reported(
        self, store: Store, azurite: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "d3Jvbmc=")
        other = open_store(store.url, settings={"endpoint": azurite})

        with pytest.raises(StoreDeniedError, match="403 AuthorizationFailure") as found:
            other.check()
        assert "d3Jvbmc" not in str(found.value)


def _make_container(endpoint: str, name: str) -> None:
    """Make a container as `az storage container create` does: signed with the shared key."""
    account, key = _AZURE_ACCOUNT
    date = formatdate(usegmt=True)
    headers = {"x-ms-date": date, "x-ms-version": "2023-11-03"}
    canonical = "".join(f"{k}:{v}\n" for k, v in headers.items())
    path = urlsplit(endpoint).path
    kind = "application/octet-stream"
    signed = "\n".join(["PUT", "", "", "", "", kind, *[""] * 6, canonical])
    signed += f"/{account}{path}/{name}\nrestype:container"
    mac = hmac.digest(b64decode(key), signed.encode(), "sha256")
    headers["Content-Type"] = kind
    headers["Authorization"] = f"SharedKey {account}:{b64encode(mac).decode()}"
    ask = urllib.request.Request(
        f"{endpoint}/{name}?restype=container", method="PUT", headers=headers, data=b""
    )
    with urllib.request.urlopen(ask, timeout=30):
        pass


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


@pytest.mark.nightly
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
