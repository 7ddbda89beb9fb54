"""Buckets that are reached in other ways than most: by host name, access point, at one's cost.

And what `rm` says of a bucket that keeps versions.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dask
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from dask_blackbox.cli import blackbox
from dask_blackbox.errors import (
    ConfigurationError,
    StoreDeniedError,
    StoreUnreachableError,
)
from dask_blackbox.store import open_store
from dask_blackbox.store.options import StoreOptions, gathered
from dask_blackbox.store.request import Request
from dask_blackbox.store.s3_errors import answered
from dask_blackbox.store.url import Bucket, place_of
from dask_blackbox.testing import EmbeddedS3
from stored_runs import Shelf

pytestmark = pytest.mark.processes
POINT = "arn:aws:s3:eu-west-1:123456789012:accesspoint/dask"
KEYS = {"key": "AKIAIOSFODNN7EXAMPLE", "secret": "hush"}


def host_of(url: str, **settings: Any) -> str | None:
    """Return the host that a store would ask for a blob."""
    link = open_store(url, settings=KEYS | settings).link("report.html", expires=60)
    return urlsplit(link or "").hostname


def test_a_bucket_has_a_host_name_where_its_server_or_the_setting_says_so() -> None:
    url, server = "s3://runs/etl", {"endpoint": "http://s3.example.org:9000"}

    assert host_of(url, region="eu-west-1") == "runs.s3.eu-west-1.amazonaws.com"
    assert host_of(url, region="eu-west-1", addressing="path") == (
        "s3.eu-west-1.amazonaws.com"
    )
    assert host_of(url, **server) == "s3.example.org"
    assert host_of(url, **server, addressing="virtual") == "runs.s3.example.org"


def test_an_access_point_is_asked_in_its_own_region() -> None:
    host = "dask-123456789012.s3-accesspoint.eu-west-1.amazonaws.com"

    assert host_of(f"s3://{POINT}/etl") == host
    assert host_of(f"s3://{POINT}", region="us-east-1") == host
    assert open_store(f"s3://{POINT}/etl").url == f"s3://{POINT}/etl"


@pytest.mark.parametrize(
    "url",
    [
        "s3://arn:aws:s3:eu-west-1:123456789012:bucket/dask",
        "s3://arn:aws:s3-outposts:eu-west-1:123456789012:outpost/op-1/accesspoint/dask",
        f"gs://{POINT}/etl",
    ],
)
def test_another_arn_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        open_store(url)


def test_permissions_name_the_access_point() -> None:
    place = place_of(f"s3://{POINT}/etl")
    assert isinstance(place, Bucket)
    options = StoreOptions.of(gathered({"url": place.url}))
    denied = {"Error": {"Code": "AccessDenied"}}

    written = answered(denied, Request("write", "run.json", place, options))
    listed = answered(denied, Request("list", "", place, options))

    assert isinstance(written, StoreDeniedError)
    assert f"s3:PutObject on {POINT}/object/etl/*" in str(written)
    assert f"s3:ListBucket on {POINT}" in str(listed)
    printed = CliRunner().invoke(
        blackbox, ["policy", place.url], catch_exceptions=False
    )
    statements = json.loads(printed.output)["Statement"]
    resources = {each for one in statements for each in one["Resource"]}
    assert POINT in resources
    assert {each for each in resources if not each.startswith(POINT)} == set()
    assert f"{POINT}/object/etl/*" in resources


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"addressing": "host"}, "path or virtual"),
        ({"requester-pays": "me"}, "give true or false"),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        open_store("s3://bucket", settings=settings)


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of a certificate of its own authority, for 127.0.0.1, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "store")])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "ca.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


@contextmanager
def _tls_server(certificate: Path, key: Path) -> Iterator[str]:
    """Answer each request with a blob, over TLS; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Length", "5")
            self.send_header("ETag", '"1"')
            self.end_headers()
            self.wfile.write(b"there")

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_server_with_a_private_certificate_needs_its_authority(
    tmp_path: Path,
) -> None:
    certificate, key = _certificate(tmp_path)
    with _tls_server(certificate, key) as endpoint:
        server: dict[str, Any] = {**KEYS, "endpoint": endpoint, "attempts": 1}
        known = open_store(
            "s3://runs", settings=server | {"ca-bundle": str(certificate)}
        )

        assert known.get("report.html") == b"there"
        with pytest.raises(StoreUnreachableError, match=r"blackbox\.store\.ca-bundle"):
            open_store("s3://runs", settings=server).get("report.html")
        missing = open_store("s3://runs", settings=server | {"ca-bundle": "/no/ca.pem"})
        with pytest.raises(ConfigurationError, match="no such file on this machine"):
            missing.get("report.html")


def test_each_request_says_who_pays(s3: EmbeddedS3) -> None:
    store: Any = open_store(
        f"{s3.url}/paid", settings=s3.settings | {"requester-pays": True}
    )
    payers: list[tuple[str, object]] = []

    def note(request: Any, **_: Any) -> None:
        payers.append((request.method, request.headers.get("x-amz-request-payer")))

    store._client.meta.events.register("before-send.s3", note)
    store.put("a/b", b"1")
    store.get("a/b")
    list(store.names())
    list(store.folders())
    store.delete("a/b")

    assert {method for method, _ in payers} == {"PUT", "GET", "DELETE"}
    assert {payer for _, payer in payers} == {b"requester"}
    assert store.link("a/b", expires=60) is None


@pytest.mark.parametrize(
    ("lock", "says"),
    [
        (None, "it keeps what was deleted, until a lifecycle rule"),
        (
            {"Mode": "GOVERNANCE", "Days": 30},
            "it keeps what was deleted, its object lock (GOVERNANCE) for 30 days at least, ",
        ),
    ],
)
def test_rm_says_what_a_versioned_bucket_keeps(
    s3: EmbeddedS3, lock: dict[str, Any] | None, says: str
) -> None:
    bucket, client = "locked" if lock else "versioned", s3.client()
    client.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=bool(lock))
    if lock:
        kept = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": lock}}
        client.put_object_lock_configuration(
            Bucket=bucket, ObjectLockConfiguration=kept
        )
    else:
        enabled = {"Status": "Enabled"}
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=enabled)
    settings = {f"blackbox.store.{name}": text for name, text in s3.settings.items()}
    url = f"s3://{bucket}/etl"

    with dask.config.set(settings):
        Shelf(url).record("nightly", "old")
        words = ("rm", "nightly/old", "--yes", "--store", url)
        result = CliRunner().invoke(blackbox, words, catch_exceptions=False)

    assert result.exit_code == 0
    assert says in result.output
    assert f"--bucket {bucket} --prefix etl/" in result.output
    left = client.list_object_versions(Bucket=bucket)["Versions"]
    assert any("run.json" in each["Key"] for each in left)  # it is true


def test_rm_says_nothing_of_a_bucket_without_versions(s3: EmbeddedS3) -> None:
    store = open_store(f"{s3.url}/plain", settings=s3.settings)
    store.put("a", b"1")
    store.delete("a")

    assert store.kept_of_deleted() == ""  # type: ignore[attr-defined]
