"""A store in a bucket of Google Cloud Storage or of Azure Blob Storage, by obstore.

Credentials are those of the setting `blackbox.store.credentials`, else each cloud's ordinary
ones, which obstore finds in the environment, in files of the command-line tools and at the
machine's metadata service.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote

import obstore
from obstore.store import AzureStore, GCSStore

from dask_blackbox.errors import BlackboxError, BlobNotFoundError, StoreError
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
from dask_blackbox.store.cloud_credentials import (
    config_of_credentials,
    config_of_environment,
)
from dask_blackbox.store.cloud_errors import translated
from dask_blackbox.store.options import StoreOptions
from dask_blackbox.store.request import Request
from dask_blackbox.store.url import Bucket

_T = TypeVar("_T")
_PAGE = 1000
_LARGEST = 512 * 2**20


class CloudStore:
    """Named blobs in a bucket or container, below a prefix.

    Nothing is connected before the first blob.

    Args:
        place: A bucket of Google Cloud Storage or a container of Azure.
        options: Of which endpoint, credentials, timeouts and attempts apply.
    """

    def __init__(self, place: Bucket, options: StoreOptions) -> None:
        self.url = place.url
        self._place, self._options = place, options
        self._config = _config(place, options)
        self._making = threading.Lock()

    def put(self, name: str, blob: bytes, *, content_type: str | None = None) -> None:
        self._put(self._client, checked_name(name), blob, content_type)

    def get(self, name: str) -> bytes:
        return self._get(self._client, checked_name(name))

    def names(
        self, prefix: str = "", *, after: str = "", limit: int | None = None
    ) -> Iterator[str]:
        checked_prefix(prefix)
        return islice(self._names(prefix, after), limit)

    def folders(self, prefix: str = "") -> Iterator[str]:
        checked_prefix(prefix)
        parent = prefix.rpartition("/")[0] or None
        found = self._ask(
            "list",
            "",
            lambda: obstore.list_with_delimiter(self._client, parent)[
                "common_prefixes"
            ],
        )
        for each in sorted(f"{folder}/" for folder in found):
            if each.startswith(prefix) and is_name(each[:-1]):
                yield each[:-1].rpartition("/")[2]

    def delete(self, name: str) -> None:
        checked_name(name)
        with suppress(BlobNotFoundError):
            self._ask("delete", name, lambda: obstore.delete(self._client, name))

    def link(self, name: str, *, expires: float) -> str | None:
        """Return a signed URL; None where these credentials cannot sign, or obstore cannot.

        obstore signs for Azure what is in the URL, and Azure what it stands for: a prefix
        with a space or an umlaut would get a link that does not open.
        """
        checked_name(name)
        prefix = self._place.prefix
        if self._place.scheme == "az" and quote(prefix, safe="/=~+@") != prefix:
            return None
        lasts = timedelta(seconds=max(1, min(int(expires), LONGEST_LINK)))
        with suppress(StoreError):
            return self._ask(
                "link", name, lambda: obstore.sign(self._client, "GET", name, lasts)
            )
        return None

    def check(self) -> None:
        within(CHECK_SECONDS, self._check, self._request("write").could_not)

    def _check(self) -> None:
        client = self._made(hasty(self._options))
        name = f"{CHECK}{uuid.uuid4().hex[:12]}"
        blob = b"blackbox" + uuid.uuid4().bytes
        self._put(client, name, blob, None)
        found = self._get(client, name)
        # Permission to write may come without permission to delete; the blob is tiny.
        with suppress(Exception):
            obstore.delete(client, name)
        if found != blob:
            raise StoreError(f"{self.url} returns different bytes than were written")

    def _put(
        self, client: Any, name: str, blob: bytes, content_type: str | None
    ) -> None:
        kind = {"Content-Type": with_charset(content_type or content_type_of(name))}
        self._ask(
            "write",
            name,
            # In one request, which is atomic: parts could be left, and cost.
            lambda: obstore.put(
                client, name, blob, attributes=kind, use_multipart=False
            ),
            size=len(blob),
        )

    def _get(self, client: Any, name: str) -> bytes:
        def read() -> bytes:
            answer = obstore.get(client, name)
            if (size := answer.meta["size"]) > most_bytes(name):
                raise over_limit(name, size)
            return bytes(answer.bytes())

        return self._ask("read", name, read, size=most_bytes(name))

    def _names(self, prefix: str, after: str) -> Iterator[str]:
        parent = prefix.rpartition("/")[0] or None
        start = max(after, _just_before(prefix))
        pages = self._ask(
            "list",
            "",
            lambda: obstore.list(
                self._client, parent, offset=start or None, chunk_size=_PAGE
            ),
        )
        while page := self._ask("list", "", lambda: next(pages, None)):
            for blob in page:
                name = blob["path"]
                if name > prefix and not name.startswith(prefix):
                    return
                # Other people's objects may lie here too.
                if name.startswith(prefix) and name > after and is_name(name):
                    yield name

    def _ask(
        self, doing: str, name: str, work: Callable[[], _T], *, size: int = 0
    ) -> _T:
        request = self._request(doing, name)
        try:
            return within(longest(self._options, size), work, request.could_not)
        except BlackboxError:
            raise
        except Exception as error:  # noqa: BLE001 - translated, never swallowed
            # Not `from error`: its text may hold credentials, and tracebacks are logged.
            raise translated(error, request) from None

    def _request(self, doing: str, name: str = "") -> Request:
        return Request(doing, name, self._place, self._options)

    @cached_property
    def _client(self) -> Any:
        with self._making:
            found = self.__dict__.get("_client")
            return found or self._made(self._options)

    def _made(self, options: StoreOptions) -> Any:
        make = GCSStore if self._place.scheme == "gs" else AzureStore
        try:
            return make(
                self._place.name,
                prefix=self._place.prefix.rstrip("/") or None,
                config=self._config,  # type: ignore[arg-type]
                client_options={
                    "connect_timeout": timedelta(seconds=options.connect_timeout),
                    "read_timeout": timedelta(seconds=options.read_timeout),
                    # Of a whole request, which is bounded by its size elsewhere.
                    "timeout": timedelta(seconds=longest(options, _LARGEST)),
                    "allow_http": _endpoint(self._config).startswith("http://"),
                },
                retry_config={"max_retries": options.attempts - 1},
            )
        except Exception as error:  # noqa: BLE001 - translated, never swallowed
            raise translated(error, self._request("reach")) from None


def _just_before(prefix: str) -> str:
    """Return a text that sorts before all names with this prefix, and after most others."""
    return prefix[:-1] + chr(ord(prefix[-1]) - 1) + "~" if prefix else ""


def _endpoint(config: Mapping[str, object]) -> str:
    return str(config.get("base_url") or config.get("endpoint") or "")


def _config(place: Bucket, options: StoreOptions) -> dict[str, object]:
    """Return what is known better than by the environment, by obstore's names."""
    config: dict[str, object] = {}
    if options.credentials:
        config |= config_of_credentials(place.scheme, options.credentials)
    elif place.scheme == "az":
        config |= config_of_environment()
    if place.account:
        config["account_name"] = place.account
    if options.endpoint:
        config["base_url" if place.scheme == "gs" else "endpoint"] = options.endpoint
    return config
