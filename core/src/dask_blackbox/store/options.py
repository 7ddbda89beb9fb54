"""How to reach a store: the settings under `blackbox.store`, checked and ready to use."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dask_blackbox.calling_task import calling_task
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.patterns import bounded
from dask_blackbox.store.cloud_credentials import config_of_credentials

KEYS = (
    "url",
    "endpoint",
    "region",
    "profile",
    "key",
    "secret",
    "token",
    "credentials",
    "sse",
    "sse-kms-key-id",
    "checksum",
    "addressing",
    "ca-bundle",
    "requester-pays",
    "connect-timeout",
    "read-timeout",
    "attempts",
    "link-expires",
    "shared",
)
"""The settings of a store, as they stand under `blackbox.store`."""

CREDENTIALS = ("key", "secret", "token", "credentials")
"""Those of them that are never written to a disk."""

_OF_S3 = (
    "region", "profile", "key", "secret", "token", "sse", "sse-kms-key-id", "addressing",
    "ca-bundle",
)  # fmt: skip

_DURATIONS = ("connect-timeout", "read-timeout", "link-expires")
_ADDRESSING = ("path", "virtual")
_CHECKSUMS = ("when_supported", "when_required")
_SSES = ("AES256", "aws:kms")
_USERINFO = bounded(r"//[^/@\s]*@")


def gathered(settings: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return every setting of a store, those of `settings` before the configured ones.

    Durations come out as seconds, so that the result can travel as JSON to a process
    that has another configuration.

    Raises:
        ConfigurationError: for a setting that there is not, or that cannot work.
    """
    given = {name.replace("_", "-"): value for name, value in (settings or {}).items()}
    unknown = sorted(set(given) - set(KEYS))
    if unknown:
        raise ConfigurationError(
            f"unknown store setting: {', '.join(unknown)}; known settings: "
            f"{', '.join(KEYS)}"
        )
    missing = [name for name in KEYS if name not in given]
    if missing:
        # Needs dask.config, which a complete `settings` makes unnecessary.
        from dask_blackbox.settings import setting

        given |= {name: setting(f"store.{name}") for name in missing}
    # The task that started this process elsewhere passes its store, where its page looks.
    if "url" in missing and (store := calling_task(os.environ).get("store")):
        given["url"] = store
    return given | {name: _seconds(name, given[name]) for name in _DURATIONS}


def _seconds(name: str, value: object) -> float:
    wrong = ConfigurationError(
        f"blackbox.store.{name} is {value!r}; give a duration like '10s' or '7 days'"
    )
    if isinstance(value, bool):
        raise wrong
    if isinstance(value, str):
        from dask.utils import parse_timedelta

        try:
            value = parse_timedelta(value)
        except (KeyError, TypeError, ValueError):
            raise wrong from None
    if not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise wrong
    return float(value)


def shared_with(value: object) -> bool | str:
    """Return with whom a folder is shared: nobody, its group, or the group of that name.

    Raises:
        ConfigurationError: if the setting is neither.
    """
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str) and value:
        return value
    raise ConfigurationError(
        f"blackbox.store.shared is {value!r}; give true, false or the name of a group"
    )


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """Checked settings of a store in a bucket; timeouts in seconds."""

    endpoint: str | None
    region: str | None
    profile: str | None
    key: str | None
    secret: str | None = field(repr=False)
    token: str | None = field(repr=False)
    credentials: str | None = field(repr=False)
    sse: str | None
    sse_kms_key_id: str | None
    checksum: str
    addressing: str | None
    ca_bundle: str | None
    requester_pays: bool
    connect_timeout: float
    read_timeout: float
    attempts: int

    @classmethod
    def of(cls, settings: Mapping[str, object], scheme: str = "s3") -> StoreOptions:
        """Check what `gathered` returned.

        Args:
            scheme: Of the bucket, as `Bucket` has it.

        Raises:
            ConfigurationError: naming the setting and what it could be.
        """
        texts = {name: _text(name, settings[name]) for name in _OF_S3}
        texts["credentials"] = _credentials(settings["credentials"])
        pays = _switch("requester-pays", settings["requester-pays"])
        _check_cloud(scheme, texts | {"requester-pays": "true" if pays else None})
        if bool(texts["key"]) != bool(texts["secret"]):
            there, lacks = ("key", "secret") if texts["key"] else ("secret", "key")
            raise ConfigurationError(
                f"blackbox.store.{there} is set without blackbox.store.{lacks}; "
                "set both, or neither to use the environment, a profile or a role"
            )
        if texts["token"] and not texts["key"]:
            raise ConfigurationError(
                "blackbox.store.token is set without blackbox.store.key and .secret, which "
                "it belongs to; set all three, or none to use the environment or a profile"
            )
        _check_sse(texts["sse"], texts["sse-kms-key-id"])
        return cls(
            endpoint=_endpoint(settings["endpoint"]),
            region=texts["region"],
            profile=texts["profile"],
            key=texts["key"],
            secret=texts["secret"],
            token=texts["token"],
            credentials=texts["credentials"],
            sse=texts["sse"],
            sse_kms_key_id=texts["sse-kms-key-id"],
            checksum=_word("checksum", settings["checksum"], _CHECKSUMS),
            addressing=texts["addressing"]
            and _word("addressing", texts["addressing"], _ADDRESSING),
            ca_bundle=texts["ca-bundle"],
            requester_pays=pays,
            connect_timeout=_seconds("connect-timeout", settings["connect-timeout"]),
            read_timeout=_seconds("read-timeout", settings["read-timeout"]),
            attempts=_attempts(settings["attempts"]),
        )


def _check_cloud(scheme: str, texts: Mapping[str, str | None]) -> None:
    """Refuse settings of another cloud, and credentials that are none of this one."""
    if scheme == "s3":
        if texts["credentials"]:
            raise ConfigurationError(
                "blackbox.store.credentials is for gs:// and az:// stores; for S3, set "
                "blackbox.store.key and .secret, or a profile"
            )
        return
    if others := [name for name in (*_OF_S3, "requester-pays") if texts[name]]:
        raise ConfigurationError(
            f"blackbox.store.{others[0]} is for buckets of S3; a {scheme}:// store uses "
            "blackbox.store.credentials, or the credentials of its own cloud from the "
            "environment"
        )
    if texts["credentials"]:
        config_of_credentials(scheme, texts["credentials"])


def _text(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        shown = "not text" if name in CREDENTIALS else f"{value!r}, which is not text"
        raise ConfigurationError(f"blackbox.store.{name} is {shown}; quote it")
    return value or None


def _credentials(value: object) -> str | None:
    # Dask reads JSON in a variable, and YAML in a file, as a mapping.
    return _text(
        "credentials", json.dumps(value) if isinstance(value, Mapping) else value
    )


def _word(name: str, value: object, words: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in words:
        raise ConfigurationError(
            f"blackbox.store.{name} is {value!r}; choose {' or '.join(words)}"
        )
    return value


def _switch(name: str, value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ConfigurationError(f"blackbox.store.{name} is {value!r}; give true or false")


def _check_sse(sse: str | None, kms_key: str | None) -> None:
    if sse:
        _word("sse", sse, _SSES)
    if kms_key and sse != "aws:kms":
        raise ConfigurationError(
            "blackbox.store.sse-kms-key-id needs blackbox.store.sse: aws:kms"
        )


def _attempts(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(
            f"blackbox.store.attempts is {value!r}; give a number of 1 or more"
        )
    return value


def _endpoint(value: object) -> str | None:
    if not value:
        return None
    shown = _USERINFO.sub("//…@", repr(value))
    wrong = f"blackbox.store.endpoint is {shown}; "
    if not isinstance(value, str):
        raise ConfigurationError(f"{wrong}give a URL like 'https://s3.example.com'")
    try:
        parts = urlsplit(value)
        _ = parts.port  # raises where it is no number
    except ValueError as error:
        raise ConfigurationError(f"{wrong}{error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        bare = value.rpartition("//")[2].rpartition("@")[2] or "s3.example.com"
        raise ConfigurationError(
            f"{wrong}it needs a scheme, like 'https://{bare}' or 'http://{bare}'"
        )
    if "@" in parts.netloc:
        raise ConfigurationError(
            f"{wrong}credentials belong in blackbox.store.key and .secret"
        )
    if parts.query or parts.fragment:
        raise ConfigurationError(f"{wrong}remove everything from the ? or #")
    return value
