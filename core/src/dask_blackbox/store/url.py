"""Where a store is: what users write as its URL, taken apart and checked."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import unquote

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.patterns import bounded

_SCHEME = bounded(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?")
_BUCKET = bounded(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ACCESS_POINT = bounded(
    r"(?P<name>arn:aws[a-z-]{0,16}:s3:[a-z0-9-]{0,30}:\d{12}:accesspoint/[a-z0-9.-]{3,63})"
    r"(?:/(?P<prefix>.*))?"
)
_GOOGLE_BUCKET = bounded(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_CONTROL = bounded(r"[\x00-\x1f\x7f]")
_LONGEST_PREFIX = 200
_IN_CONTAINERS = (
    "/.dockerenv",
    "/run/.containerenv",
    "/var/run/secrets/kubernetes.io",
)

_SUPPORTED = (
    "a store is s3://bucket/prefix, gs://bucket/prefix, az://container/prefix, "
    "file:///folder or the path of a folder "
    "(for S3 servers other than AWS, set blackbox.store.endpoint)"
)
_CLOUDS = {"s3": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}
"""The scheme that names each kind of bucket, by what may be written."""
_ACCOUNT = bounded(r"([a-z0-9]{3,24})\.(?:dfs|blob)\.[a-z0-9.-]{1,100}")


@dataclass(frozen=True)
class Bucket:
    """A bucket, and a prefix in it.

    Attributes:
        name: Of the bucket, or the ARN of an access point; Azure's word is container.
        prefix: Empty, or ending in `/`.
        scheme: `s3`, `gs` (Google Cloud Storage) or `az` (Azure Blob Storage).
        host: Of Azure's account, as `account.dfs.core.windows.net`; empty: the
            environment names the account.
    """

    name: str
    prefix: str
    scheme: str = "s3"
    host: str = ""

    @property
    def url(self) -> str:
        """Its URL, without a trailing `/`."""
        scheme, name = self.scheme, self.name
        if self.host:
            scheme, name = "abfs", f"{name}@{self.host}"
        return f"{scheme}://{name}/{self.prefix}".rstrip("/")

    @property
    def arn(self) -> str:
        """How a policy of Amazon's names the bucket, or the access point."""
        return self.name if self._is_access_point else f"arn:aws:s3:::{self.name}"

    @property
    def arn_of_objects(self) -> str:
        """How the ARNs of its objects begin, before their names."""
        return f"{self.arn}/object/" if self._is_access_point else f"{self.arn}/"

    @property
    def _is_access_point(self) -> bool:
        return self.name.startswith("arn:")

    @property
    def account(self) -> str | None:
        """Azure's account, if the URL names one."""
        return self.host.partition(".")[0] or None


def place_of(url: str | os.PathLike[str]) -> Bucket | Path:
    """Return the bucket or the folder that a store's URL names.

    Raises:
        ConfigurationError: if it names neither.
    """
    text = os.fspath(url)
    if not text.strip():
        raise ConfigurationError(f"the store's URL is empty; {_SUPPORTED}")
    if _CONTROL.search(text):
        raise ConfigurationError(
            f"the store's URL {_shown(text)} contains a control character; {_SUPPORTED}"
        )
    found = _SCHEME.match(text)
    if found is None:
        return _folder(text)
    scheme, rest = found[1].lower(), text[found.end() :]
    if (scheme == "file" or scheme in _CLOUDS) and not found[2]:
        raise ConfigurationError(f"{_shown(text)} lacks the //; {_SUPPORTED}")
    if scheme in _CLOUDS:
        return _bucket(_CLOUDS[scheme], rest, text)
    if scheme == "file":
        return _file(rest, text)
    if not found[2]:
        return _folder(text)  # a path that holds a colon
    raise ConfigurationError(f"{_shown(text)} cannot be a store{_hint(scheme)}")


def _hint(scheme: str) -> str:
    if scheme in {"s3a", "s3n"}:
        return "; use s3:// instead"
    if scheme in {"http", "https"}:
        return (
            "; set blackbox.store.endpoint to the server's URL and "
            "blackbox.store.url to s3://bucket/prefix"
        )
    return f"; {_SUPPORTED}"


def _bucket(scheme: str, rest: str, text: str) -> Bucket:
    if scheme == "s3" and (point := _ACCESS_POINT.fullmatch(rest)) is not None:
        prefix = _checked_prefix((point["prefix"] or "").rstrip("/"), text)
        return Bucket(point["name"], f"{prefix}/" if prefix else "")
    name, _, prefix = rest.partition("/")
    host = ""
    if name.startswith("arn:"):
        raise ConfigurationError(
            f"{_shown(text)} is no access point of S3; its form is "
            "s3://arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME/prefix"
        )
    if scheme == "az" and "@" in name:
        name, _, host = name.partition("@")
    if ":" in name or (not host and "@" in name):
        raise ConfigurationError(
            f"{_shown(text)} contains credentials; they belong in "
            "the environment, a profile, or blackbox.store.key and .secret"
        )
    if not name:
        raise ConfigurationError(f"{_shown(text)} contains no bucket; {_SUPPORTED}")
    if host and not _ACCOUNT.fullmatch(host):
        raise ConfigurationError(
            f"{_shown(text)} names no storage account; its form is "
            "abfs://container@account.dfs.core.windows.net/prefix"
        )
    _check_bucket(scheme, name)
    prefix = _checked_prefix(prefix.rstrip("/"), text)
    return Bucket(name, f"{prefix}/" if prefix else "", scheme, host)


def _checked_prefix(prefix: str, text: str) -> str:
    parts = prefix.split("/") if prefix else []
    if any(part in {"", ".", ".."} for part in parts):
        raise ConfigurationError(
            f"{_shown(text)} has an empty part, a . or a .. in its prefix; leave it out"
        )
    if any(letter in prefix for letter in "?#"):
        raise ConfigurationError(
            f"{_shown(text)} contains a ? or #; endpoint, region and the like are "
            "settings under blackbox.store"
        )
    if len(prefix.encode("utf-8", "surrogatepass")) > _LONGEST_PREFIX:
        raise ConfigurationError(
            f"the prefix in {_shown(text)} is longer than {_LONGEST_PREFIX} bytes"
        )
    return prefix


def _check_bucket(scheme: str, name: str) -> None:
    # Google's names have underscores as well, and names of domains are longer.
    allowed = _GOOGLE_BUCKET if scheme == "gs" else _BUCKET
    if not allowed.fullmatch(name) or ".." in name or _is_address(name):
        letters = "a-z 0-9 . _ and -" if scheme == "gs" else "a-z 0-9 . and -"
        raise ConfigurationError(
            f"{name!r} cannot be a bucket: its name has 3 to 63 characters of {letters}, "
            "and begins and ends with a letter or digit"
        )


def _is_address(name: str) -> bool:
    try:
        IPv4Address(name)
    except ValueError:
        return False
    return True


def _file(rest: str, text: str) -> Path:
    host, slash, path = rest.partition("/")
    if host == "~":
        return _folder(f"~/{unquote(path)}")
    if host not in {"", "localhost"} or not slash:
        raise ConfigurationError(
            f"{_shown(text)} names a machine; a folder's URL has three slashes, "
            f"like file:///{rest.lstrip('/')}"
        )
    return _folder(unquote(f"/{path}"))


def _folder(text: str) -> Path:
    folder = Path(text)
    if text.startswith("~"):
        try:
            folder = folder.expanduser()
        except RuntimeError:
            raise ConfigurationError(
                f"{text!r} has no home directory; give the full path"
            ) from None
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 - takes the .. out, too
    if os.path.isfile(folder):  # noqa: PTH113 - False where we may not look
        raise ConfigurationError(
            f"{folder} is a file; the store has to be a folder or s3://bucket/prefix"
        )
    return folder


def default_folder() -> Path:
    """Return the folder of this user's recordings, made if need be.

    It lies in `$XDG_DATA_HOME`, else in `~/.local/share`; where neither can be written
    (containers with an arbitrary user id), in the temporary directory.
    """
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if data.startswith("/") else Path("~/.local/share")
    with suppress(RuntimeError):  # nobody's home
        folder = base.expanduser() / "dask-blackbox"
        if _is_ours(folder):
            return folder
    folder = Path(tempfile.gettempdir()) / f"dask-blackbox-{os.getuid()}"
    if _is_ours(folder):
        return folder
    raise ConfigurationError(
        f"neither {base} nor {tempfile.gettempdir()} can be written; set "
        "blackbox.store.url (or DASK_BLACKBOX__STORE__URL) to a folder or s3://…"
    )


def is_lost_with_container(folder: Path) -> bool:
    """Return whether a folder is in the home of a container, on no volume: it goes with it."""
    if not any(os.path.exists(each) for each in _IN_CONTAINERS):  # noqa: PTH110
        return False
    try:
        home = Path.home()
        there = next(each for each in (folder, *folder.parents) if each.exists())
        inside = there.is_relative_to(home) or folder.is_relative_to(home)
        return inside and there.stat().st_dev == Path("/").stat().st_dev
    except (OSError, RuntimeError):
        return False


def _is_ours(folder: Path) -> bool:
    """Make the folder; return whether we own it (all users can write to the temporary directory)."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return (
            os.access(folder, os.W_OK | os.X_OK)
            and folder.lstat().st_uid == os.getuid()
        )
    except OSError:
        return False


def _shown(text: str) -> str:
    """Return a URL for a message: short, and without the credentials that it may hold."""
    bare = bounded(r"//.{0,4000}@").sub("//…@", text)
    bare = bounded(r"\?.*").sub("?…", bare)
    return repr(bare[:200])
