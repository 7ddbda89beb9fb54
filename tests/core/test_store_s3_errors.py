"""What goes wrong with S3 is said in a sentence that helps, in time, without secrets."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox.errors import (
    BlobNotFoundError,
    StoreDeniedError,
    StoreError,
    StoreNotFoundError,
    StoreUnreachableError,
)
from dask_blackbox.store import Store, open_store
from dask_blackbox.testing import EmbeddedS3, embedded_s3

pytestmark = pytest.mark.processes

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
KEY = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials but those of the test; no look at this machine's cloud."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def a_store(endpoint: str, url: str = "s3://recordings/dask", **more: Any) -> Store:
    """Return a store that tries once."""
    settings = {"endpoint": endpoint, "key": KEY, "secret": SECRET, "attempts": 1}
    return open_store(url, settings=settings | more)


@contextmanager
def a_server(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Run an HTTP server that answers every request in its own way."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer(self)

        do_GET = do_PUT = do_DELETE = handle_any  # noqa: N815 - http.server's names

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def saying(
    status: int, code: str, message: str = "so it is", **headers: str
) -> Callable[[BaseHTTPRequestHandler], None]:
    """Return an answer as S3 servers give it."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        text = (
            f"<?xml version='1.0'?><Error><Code>{code}</Code>"
            f"<Message>{message}</Message><RequestId>X</RequestId></Error>"
        ).encode()
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    return answer


@pytest.fixture(scope="module")
def strict() -> Iterator[tuple[EmbeddedS3, dict[str, str]]]:
    """Return moto that checks signatures and permissions, and one who may only write."""
    free = {"INITIAL_NO_AUTH_ACTION_COUNT": "4"}
    with embedded_s3(bucket="", environment=free) as server:
        server.client().create_bucket(Bucket="recordings")
        iam = server.client("iam")
        iam.create_user(UserName="writer")
        made = iam.create_access_key(UserName="writer")["AccessKey"]
        policy = {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": ["s3:PutObject", "s3:GetObject"],
                    "Resource": "*",
                }
            ],
        }
        iam.put_user_policy(
            UserName="writer", PolicyName="p", PolicyDocument=json.dumps(policy)
        )
        yield server, {"key": made["AccessKeyId"], "secret": made["SecretAccessKey"]}


def test_a_writer_may_write_and_what_he_may_not_is_named(
    strict: tuple[EmbeddedS3, dict[str, str]],
) -> None:
    server, writer = strict
    store = a_store(server.endpoint, **writer)
    store.check()  # cannot delete its blob, which is no reason to fail
    store.put("a", b"1")

    with pytest.raises(
        StoreDeniedError, match=r"s3:ListBucket on arn:aws:s3:::recordings$"
    ):
        list(store.names())
    with pytest.raises(
        StoreDeniedError, match=r"s3:DeleteObject on arn:aws:s3:::recordings/dask/\*$"
    ):
        store.delete("a")


def test_a_wrong_secret_and_an_unknown_key_are_reported_apart(
    strict: tuple[EmbeddedS3, dict[str, str]],
) -> None:
    server, writer = strict
    with pytest.raises(StoreDeniedError, match="does not belong to the access key"):
        a_store(server.endpoint, key=writer["key"], secret=SECRET).check()
    with pytest.raises(StoreDeniedError, match="does not know the access key"):
        a_store(server.endpoint).check()


def test_a_missing_bucket_is_reported_with_the_command_that_creates_it() -> None:
    with embedded_s3() as server, pytest.raises(StoreNotFoundError) as missing:
        a_store(server.endpoint, "s3://no-such-bucket/x", region="eu-west-1").check()

    assert "no bucket 'no-such-bucket'" in str(missing.value)
    assert (
        f"aws s3 mb s3://no-such-bucket --endpoint-url {server.endpoint} "
        "--region eu-west-1"
    ) in str(missing.value)


def test_no_credentials_name_the_three_ways_to_give_some() -> None:
    with pytest.raises(StoreDeniedError) as missing:
        open_store("s3://recordings").check()

    for way in ("blackbox.store.profile", "AWS_ACCESS_KEY_ID", "role"):
        assert way in str(missing.value)


def test_a_profile_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreDeniedError, match=r"\(no-such\).*list-profiles"):
        open_store("s3://recordings", settings={"profile": "no-such"}).check()


@pytest.mark.parametrize(
    ("status", "code", "kind", "says"),
    [
        (403, "AccessDenied", StoreDeniedError, "grant s3:PutObject on arn:aws:s3:::"),
        (403, "SignatureDoesNotMatch", StoreDeniedError, "copy both again"),
        (403, "InvalidAccessKeyId", StoreDeniedError, "does not know the access key"),
        (400, "ExpiredToken", StoreDeniedError, "aws sso login"),
        (400, "InvalidToken", StoreDeniedError, "get new ones"),
        (403, "RequestTimeTooSkewed", StoreDeniedError, r"\(\d+ s apart\); set this"),
        (403, "UserSuspended", StoreDeniedError, "suspended"),
        (403, "QuotaExceeded", StoreError, "quota"),
        (403, "SomethingNew", StoreDeniedError, "s3:PutObject"),
        (404, "NoSuchBucket", StoreNotFoundError, "aws s3 mb s3://recordings"),
        (400, "InvalidBucketName", StoreNotFoundError, "correct blackbox.store.url"),
        (411, "MissingContentLength", StoreError, "checksum: when_required"),
        (501, "NotImplemented", StoreError, "checksum: when_required"),
        (400, "KMS.NotFoundException", StoreDeniedError, "sse-kms-key-id"),
        (400, "KMS.DisabledException", StoreDeniedError, "sse-kms-key-id"),
        (400, "EntityTooStrange", StoreError, "400 EntityTooStrange"),
        (503, "SlowDown", StoreUnreachableError, "503 SlowDown.*later may help$"),
        (500, "InternalError", StoreUnreachableError, "500 InternalError"),
        (429, "TooManyRequests", StoreUnreachableError, "later may help"),
        (502, "BadGateway", StoreUnreachableError, "502 BadGateway"),
        (400, "RequestTimeout", StoreUnreachableError, "later may help"),
        (409, "OperationAborted", StoreUnreachableError, "later may help"),
    ],
)
def test_what_a_server_answers_becomes_a_sentence(
    status: int, code: str, kind: type[StoreError], says: str
) -> None:
    message = f"the key {KEY} and the secret {SECRET} at https://u:p@host"
    with (
        a_server(saying(status, code, message, Date=_an_hour_ago())) as url,
        pytest.raises(StoreError, match=says) as refused,
    ):
        a_store(url).put("a/b", b"1")

    assert type(refused.value) is kind
    assert refused.value.transient is (kind is StoreUnreachableError)
    assert SECRET not in str(refused.value)
    assert "u:p" not in str(refused.value)


def _an_hour_ago() -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() - 3600))


def test_the_region_of_the_bucket_is_passed_on() -> None:
    answer = saying(301, "PermanentRedirect", x_amz_bucket_region="eu-south-2")
    with (
        a_server(answer) as url,
        pytest.raises(StoreError, match=r"blackbox\.store\.region to eu-south-2"),
    ):
        a_store(url, region="us-east-1").put("a", b"1")


def test_encryption_is_suspected_where_a_server_lacks_something() -> None:
    with (
        a_server(saying(501, "NotImplemented")) as url,
        pytest.raises(StoreError, match=r"remove blackbox\.store\.sse"),
    ):
        a_store(url, sse="AES256", checksum="when_required").put("a", b"1")


def test_a_key_for_encryption_is_part_of_the_permission() -> None:
    with a_server(saying(403, "AccessDenied")) as url:
        store = a_store(url, sse="aws:kms")
        with pytest.raises(StoreDeniedError, match="kms:GenerateDataKey"):
            store.put("a", b"1")
        with pytest.raises(StoreDeniedError, match="kms:Decrypt"):
            store.get("a")


def test_an_absent_blob_is_not_an_absent_bucket() -> None:
    with a_server(saying(404, "NoSuchKey")) as url, pytest.raises(BlobNotFoundError):
        a_store(url).get("a")
    with (
        a_server(saying(404, "NoSuchBucket")) as url,
        pytest.raises(StoreNotFoundError),
    ):
        a_store(url).get("a")


@pytest.mark.parametrize("status", [200, 404, 405])
def test_a_server_that_does_not_speak_s3_is_suspected(status: int) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        page = b"<!doctype html><p>Sign in"
        request.send_response(status)
        request.send_header("Content-Length", str(len(page)))
        request.end_headers()
        request.wfile.write(page)

    with a_server(answer) as url, pytest.raises(StoreError, match="not speak S3"):
        a_store(url).check()


def test_a_server_that_keeps_something_else_is_found_out() -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        body = b"10;chunk-signature=0" if request.command == "GET" else b""
        request.send_header("ETag", '"1"')
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    with (
        a_server(answer) as url,
        pytest.raises(StoreError, match=r"different bytes than were written.*checksum"),
    ):
        a_store(url).check()


def test_a_blob_that_is_cut_short_is_fetched_again() -> None:
    asked = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        request.send_response(200)
        request.send_header("ETag", '"1"')
        request.send_header("Content-Length", "10")
        request.end_headers()
        request.wfile.write(b"0123456789"[: 10 if len(asked) > 1 else 4])
        request.close_connection = True

    with a_server(answer) as url:
        assert a_store(url, attempts=2).get("a") == b"0123456789"
        asked.clear()
        with pytest.raises(StoreUnreachableError):
            a_store(url).get("a")


def test_throttling_is_waited_for_as_often_as_configured() -> None:
    asked = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        if len(asked) < 3:
            saying(503, "SlowDown")(request)
            return
        request.send_response(200)
        request.send_header("ETag", '"1"')
        request.send_header("Content-Length", "0")
        request.end_headers()

    with a_server(answer) as url:
        a_store(url, attempts=3).put("a", b"1")

    assert len(asked) == 3


def test_an_address_without_a_server_is_reported() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(StoreUnreachableError, match="is that server running") as no:
            a_store(url).check()
        with pytest.raises(StoreUnreachableError) as of_list:
            list(a_store(url).folders("runs/"))

    assert url in str(no.value)
    assert no.value.transient
    assert "prefix=" not in str(of_list.value)


def test_a_name_that_nobody_knows_is_reported() -> None:
    with pytest.raises(StoreUnreachableError, match=r"no-such-host\.invalid"):
        a_store("http://no-such-host.invalid").check()


def test_a_check_of_a_black_hole_ends_soon() -> None:
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(64)  # connects, and never answers
        url = f"http://127.0.0.1:{hole.getsockname()[1]}"
        store = a_store(url, attempts=10, read_timeout=60)
        begun = time.monotonic()
        with pytest.raises(StoreUnreachableError, match="no answer within"):
            store.check()

    assert time.monotonic() - begun < 13


def test_a_server_that_answers_byte_by_byte_does_not_hold_up_a_check() -> None:
    over = threading.Event()

    def answer(request: BaseHTTPRequestHandler) -> None:
        while not over.wait(0.5):
            try:
                request.wfile.write(b"H")
            except OSError:
                return

    with a_server(answer) as url:
        try:
            with pytest.raises(StoreUnreachableError, match="no answer within 10 s"):
                a_store(url).check()
        finally:
            over.set()


def test_plain_http_behind_https_is_recognised() -> None:
    with (
        a_server(saying(200, "OK")) as url,
        pytest.raises(StoreUnreachableError, match=r"begin blackbox\.store\.endpoint"),
    ):
        a_store(url.replace("http://", "https://")).put("a", b"1")


def test_a_proxy_that_is_not_there_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:hush@127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    with pytest.raises(StoreUnreachableError, match="HTTPS_PROXY") as failed:
        a_store("http://s3.example.invalid").put("a", b"1")

    assert "hush" not in str(failed.value)


def test_an_endpoint_of_the_environment_is_addressed_by_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with embedded_s3() as server:
        monkeypatch.setenv(
            "AWS_ENDPOINT_URL_S3", server.endpoint.replace("127.0.0.1", "localhost")
        )
        store = open_store(server.url, settings={"key": KEY, "secret": SECRET})
        store.put("a", b"1")

        assert store.get("a") == b"1"
