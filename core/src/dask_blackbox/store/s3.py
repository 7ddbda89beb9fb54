"""A store in a bucket: AWS S3 or any server that speaks it."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import boto3
import botocore.loaders
import botocore.session
from botocore.config import Config

from dask_blackbox.errors import (
    BlackboxError,
    BlobNotFoundError,
    ConfigurationError,
    StoreDeniedError,
    StoreError,
)
from dask_blackbox.formatting import counted
from dask_blackbox.store.base import (
    CHECK,
    checked_name,
    checked_prefix,
    content_type_of,
    is_name,
    most_bytes,
    over_limit,
    with_charset,
)
from dask_blackbox.store.bounds import (
    CHECK_SECONDS,
    LONGEST_LINK,
    hasty,
    longest,
    within,
)
from dask_blackbox.store.options import StoreOptions
from dask_blackbox.store.request import Request
from dask_blackbox.store.s3_errors import incomplete, not_s3, translated
from dask_blackbox.store.url import Bucket

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


_T = TypeVar("_T")
_PAGE = 1000
_UNREPORTED = 64 * 2**20
_PART = 2**20


class S3Store:
    """Named blobs in a bucket, below a prefix.

    Nothing is connected, and boto3 is not imported, before the first blob.
    """

    def __init__(self, place: Bucket, options: StoreOptions) -> None:
        self.url = place.url
        self._place = place
        self._options = options
        self._making = threading.Lock()
        self._keeps_versions = False

    def put(self, name: str, blob: bytes, *, content_type: str | None = None) -> None:
        self._put(self._client, checked_name(name), blob, content_type)

    def get(self, name: str) -> bytes:
        try:
            return self._get(self._client, checked_name(name))
        except StoreDeniedError:
            # Credentials that may list some prefixes only get the same answer for a blob
            # that is not there.
            if self._is_absent(name):
                raise BlobNotFoundError(name, self.url) from None
            raise

    def names(
        self, prefix: str = "", *, after: str = "", limit: int | None = None
    ) -> Iterator[str]:
        checked_prefix(prefix)
        return islice(self._names(prefix, after, limit), limit)

    def folders(self, prefix: str = "") -> Iterator[str]:
        return self._folders(checked_prefix(prefix))

    def delete(self, name: str) -> None:
        key = self._place.prefix + checked_name(name)
        client = self._client
        answer = self._ask(
            lambda: client.delete_object(Bucket=self._place.name, Key=key),
            self._request("delete", name),
        )
        if answer.get("DeleteMarker"):
            self._keeps_versions = True

    def kept_of_deleted(self) -> str:
        """Return what the bucket keeps of the blobs that were deleted, in sentences.

        Empty: nothing, as far as the answers to the deletions say.
        """
        if not self._keeps_versions:
            return ""
        prefix = f" --prefix {self._place.prefix}" if self._place.prefix else ""
        return (
            f"The bucket is versioned: it keeps what was deleted{self._locked()}, until "
            "a lifecycle rule or somebody deletes the versions (`aws s3api "
            f"list-object-versions --bucket {self._place.name}{prefix}` lists them)."
        )

    def _locked(self) -> str:
        """Return for how long the bucket's object lock keeps versions, as part of a sentence."""
        client, bucket = self._client, self._place.name
        try:
            answer: Mapping[str, Any] = self._ask(
                lambda: client.get_object_lock_configuration(Bucket=bucket),
                self._request("reach"),
            )
        except StoreError:  # none, or these credentials may not ask for it
            return ""
        rule = answer.get("ObjectLockConfiguration", {}).get("Rule", {})
        kept = rule.get("DefaultRetention", {})
        for unit in ("Days", "Years"):
            if number := kept.get(unit):
                of = counted(number, unit.lower().rstrip("s"))
                return f", its object lock ({kept.get('Mode')}) for {of} at least"
        return ""

    def link(self, name: str, *, expires: float) -> str | None:
        if self._options.requester_pays:
            return None  # a browser does not send who pays
        key = self._place.prefix + checked_name(name)
        with self._reported("link", name):
            return self._client.generate_presigned_url(
                "get_object",
                Params={"Bucket": self._place.name, "Key": key},
                ExpiresIn=max(1, min(int(expires), LONGEST_LINK)),
            )

    def check(self) -> None:
        within(CHECK_SECONDS, self._check, self._request("write").could_not)

    def server_time(self) -> float | None:
        """Return what time the server says it is, in epoch seconds; None: it does not say.

        Raises:
            StoreError: if the bucket cannot be listed.
        """
        from email.utils import parsedate_to_datetime

        client, bucket = self._client, self._place.name
        answer = self._ask(
            # Those who may list a prefix only are refused a listing without one.
            lambda: client.list_objects_v2(
                Bucket=bucket, Prefix=f"{self._place.prefix}{CHECK}", MaxKeys=1
            ),
            self._request("list"),
        )
        date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        return parsedate_to_datetime(date).timestamp() if date else None

    def credentials(self) -> str | None:
        """Return where boto3 has found credentials, in its own word; None: nowhere."""
        with self._reported("reach"):
            return credentials_found(self._options)

    def _check(self) -> None:
        client = self._made(hasty(self._options))
        name = f"{CHECK}{uuid.uuid4().hex[:12]}"
        blob = b"blackbox" + uuid.uuid4().bytes
        self._put(client, name, blob, None)
        found = self._get(client, name)
        # Permission to write may come without permission to delete; the blob is tiny.
        with suppress(Exception):
            client.delete_object(Bucket=self._place.name, Key=self._place.prefix + name)
        if found.lstrip().startswith(b"<"):  # a web page
            raise not_s3(self._request("check"))
        if found != blob:
            raise StoreError(
                f"{self.url} returns different bytes than were written; set "
                "blackbox.store.checksum: when_required, because some S3 servers store "
                "the checksums that boto3 sends as data"
            )

    def _put(
        self, client: S3Client, name: str, blob: bytes, content_type: str | None
    ) -> None:
        more: dict[str, Any] = {}
        if self._options.sse:
            more["ServerSideEncryption"] = self._options.sse
        if self._options.sse_kms_key_id:
            more["SSEKMSKeyId"] = self._options.sse_kms_key_id
        request = self._request("write", name)
        answer = self._ask(
            lambda: client.put_object(
                Bucket=self._place.name,
                Key=self._place.prefix + name,
                Body=blob,
                ContentType=with_charset(content_type or content_type_of(name)),
                **more,
            ),
            request,
            size=len(blob),
        )
        if "ETag" not in answer:  # every S3 server sends one
            raise incomplete(answer, request)

    def _get(self, client: S3Client, name: str) -> bytes:
        request = self._request("read", name)
        for left in range(self._options.attempts - 1, -1, -1):
            answer: Mapping[str, Any] = self._ask(
                lambda: client.get_object(
                    Bucket=self._place.name, Key=self._place.prefix + name
                ),
                request,
            )
            headers = answer["ResponseMetadata"]["HTTPHeaders"]
            # Without either, the end of a blob cannot be distinguished from its being cut off.
            ends = "ContentLength" in answer or "transfer-encoding" in headers
            if "ETag" not in answer or not ends:
                raise incomplete(answer, request)
            length: int | None = answer.get("ContentLength")
            if length is not None and length > most_bytes(name):
                answer["Body"].close()
                raise over_limit(name, length)
            try:
                # boto3 tries again only until the body has begun.
                return self._ask(
                    lambda: _read_body(answer["Body"], name, whole=length is not None),  # noqa: B023
                    request,
                    size=_UNREPORTED if length is None else length,
                )
            except StoreError as error:
                if not (left and error.transient):
                    raise
        raise AssertionError  # pragma: no cover - attempts is at least 1

    def _names(self, prefix: str, after: str, limit: int | None) -> Iterator[str]:
        more: dict[str, object] = {}
        start = self._place.prefix
        if after:
            more["StartAfter"] = start + after
        if limit is not None:
            more["PaginationConfig"] = {"PageSize": max(1, min(limit, _PAGE))}
        for page in self._pages(prefix, **more):
            for blob in page.get("Contents", ()):
                name = blob["Key"][len(start) :]
                # Other people's objects may lie here too.
                if name > after and is_name(name):
                    yield name

    def _is_absent(self, name: str) -> bool:
        """Return whether a listing shows that a blob is not there."""
        try:
            return name not in self.names(name, limit=1)
        except StoreError:
            return False

    def _folders(self, prefix: str) -> Iterator[str]:
        start = len(self._place.prefix)
        for page in self._pages(prefix, Delimiter="/"):
            for folder in page.get("CommonPrefixes", ()):
                name = folder["Prefix"][start:].rstrip("/")
                if is_name(name):
                    yield name.rpartition("/")[2]

    def _pages(self, prefix: str, **more: Any) -> Iterator[Any]:
        request = self._request("list")
        pages = iter(
            self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._place.name, Prefix=self._place.prefix + prefix, **more
            )
        )
        while True:
            page = self._ask(lambda: next(pages, None), request)
            if page is None:
                return
            # Half an answer must not pass for an empty one.
            if "IsTruncated" not in page:
                raise incomplete(page, request)
            yield page

    def _ask(self, work: Callable[[], _T], request: Request, *, size: int = 0) -> _T:
        with self._reported(request.doing, request.name):
            return within(longest(self._options, size), work, request.could_not)

    @cached_property
    def _client(self) -> S3Client:
        with self._making:  # making one is not thread-safe, using it is
            found: S3Client | None = self.__dict__.get("_client")
            return found or self._made(self._options)

    def _made(self, options: StoreOptions) -> S3Client:
        with self._reported("reach"):
            return client_of(options)

    def _request(self, doing: str, name: str = "") -> Request:
        return Request(doing, name, self._place, self._options)

    @contextmanager
    def _reported(self, doing: str, name: str = "") -> Iterator[None]:
        """Translate an error of boto3 into one of ours."""
        try:
            yield
        except BlackboxError:
            raise
        except Exception as error:  # noqa: BLE001 - translated, never swallowed
            known = translated(error, self._request(doing, name))
            if isinstance(known, StoreDeniedError):
                # After a new login, the new credentials are used.
                self.__dict__.pop("_client", None)
            # Not `from error`: its text may hold credentials, and tracebacks are logged.
            raise known from None


def _read_body(body: Any, name: str, *, whole: bool) -> bytes:
    """Return the body of an answer.

    Args:
        whole: Its length is known, and permitted: no more than that is read.

    Raises:
        OverLimitError: if it turns out to be too large.
    """
    if whole:
        return bytes(body.read())
    parts, size = [], 0
    while part := body.read(_PART):
        parts.append(part)
        size += len(part)
        if size > most_bytes(name):
            body.close()
            raise over_limit(name)
    return b"".join(parts)


_SOMEWHERE = "us-east-1"


def client_of(options: StoreOptions) -> S3Client:
    """Return a client for these options.

    Raises:
        botocore.exceptions.BotoCoreError: for a profile or region that there is not.
        ConfigurationError: for a file of an authority that there is not.
    """
    session = _session(options)
    if options.addressing:
        return _client(session, options, options.addressing)
    # Other servers than Amazon's have seldom a DNS name for each bucket.
    if options.endpoint and not _is_amazon(options.endpoint):
        return _client(session, options, "path")
    # Where boto3 chooses, links name a host that serves no region of 2019 or later.
    client = _client(session, options, "virtual")
    # The endpoint may as well come from the environment or the profile.
    if _is_amazon(client.meta.endpoint_url):
        return client
    return _client(session, options, "path")


def credentials_found(options: StoreOptions) -> str | None:
    """Return boto3's word for where credentials come from: `env`, `iam-role`, …"""
    found = _session(options).get_credentials()
    return None if found is None else str(found.method)


def _session(options: StoreOptions) -> boto3.session.Session:
    core = botocore.session.Session(profile=options.profile)
    # Not the whole session: after a new login, the new credentials are used.
    core.register_component("data_loader", _models(options.profile))
    return boto3.session.Session(
        botocore_session=core,
        aws_access_key_id=options.key,
        aws_secret_access_key=options.secret,
        aws_session_token=options.token,
        profile_name=options.profile,
        region_name=options.region,
    )


@cache
def _models(profile: str | None) -> object:
    """Return what loads the descriptions of services, which all clients can share."""
    loader = botocore.session.Session(profile=profile).get_component("data_loader")
    loader.file_loader = _WithoutTexts()
    return loader


class _WithoutTexts(botocore.loaders.JSONFileLoader):
    """Leaves out of descriptions what is for people: most of their memory, for a whole run."""

    def load_file(self, file_path: str) -> object:
        return _without_texts(super().load_file(file_path))


def _without_texts(part: object) -> object:
    if isinstance(part, dict):
        return {
            sys.intern(name): ""  # its key has to be there
            if name == "documentation" and isinstance(value, str)
            else _without_texts(value)
            for name, value in part.items()
        }
    if isinstance(part, list):
        return [_without_texts(each) for each in part]
    return part


def _client(
    session: boto3.session.Session, options: StoreOptions, addressing: str
) -> S3Client:
    switches: dict[str, Any] = {
        # Without it, links to a custom endpoint get the signature of 2006.
        "signature_version": "s3v4",
        "s3": {"addressing_style": addressing, "use_arn_region": True},
        "connect_timeout": options.connect_timeout,
        "read_timeout": options.read_timeout,
        "retries": {"mode": "standard", "total_max_attempts": options.attempts},
        "request_checksum_calculation": options.checksum,
        "response_checksum_validation": options.checksum,
    }
    client = session.client(
        "s3",
        endpoint_url=options.endpoint,
        region_name=session.region_name or _SOMEWHERE,
        config=Config(**switches),
        # None: what AWS_CA_BUNDLE names, else botocore's own.
        verify=_ca_bundle(options),
    )
    if options.requester_pays:
        client.meta.events.register("before-parameter-build.s3", _pay)
    return client


def _ca_bundle(options: StoreOptions) -> str | None:
    if options.ca_bundle is None:
        return None
    file = Path(options.ca_bundle).expanduser()
    if not file.is_file():
        # boto3 says so with the first request, as if there was no server.
        raise ConfigurationError(
            f"blackbox.store.ca-bundle is {options.ca_bundle!r}, and there is no such file "
            "on this machine"
        )
    return str(file)


def _pay(params: dict[str, Any], model: Any, **_: Any) -> None:
    """Say in a request of boto3 that its sender pays for it."""
    shape = model.input_shape
    if shape is not None and "RequestPayer" in shape.members:
        params["RequestPayer"] = "requester"


def _is_amazon(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu"))
