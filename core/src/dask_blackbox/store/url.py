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
_CONTROL = bounded(r"[\x00-\x1f\x7f]")
_LONGEST_PREFIX = 200
_IN_CONTAINERS = (
    "/.dockerenv",
    "/run/.containerenv",
    "/var/run/secrets/kubernetes.io",
)

_SUPPORTED = (
    "a store is s3://bucket/prefix, file:///folder or the path of a folder "
    "(for S3 servers other than AWS, set blackbox.store.endpoint)"
)


@dataclass(frozen=True)
class Bucket:
    """A bucket, and the prefix in it (empty or ending in `/`)."""

    name: str
    prefix: str

    @property
    def url(self) -> str:
        """Its URL, without a trailing `/`."""
        return f"s3://{self.name}/{self.prefix}".rstrip("/")


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
    if scheme in {"s3", "file"} and not found[2]:
        raise ConfigurationError(f"{_shown(text)} lacks the //; {_SUPPORTED}")
    if scheme == "s3":
        return _bucket(rest, text)
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


def _bucket(rest: str, text: str) -> Bucket:
    name, _, prefix = rest.partition("/")
    if "@" in rest and ("@" in name or ":" in name):
        raise ConfigurationError(
            f"{_shown(text)} contains credentials; they belong in blackbox.store.key "
            "and .secret, a profile or the environment"
        )
    if not name:
        raise ConfigurationError(f"{_shown(text)} contains no bucket; {_SUPPORTED}")
    if not _BUCKET.fullmatch(name) or ".." in name or _is_address(name):
        raise ConfigurationError(
            f"{name!r} cannot be a bucket: its name has 3 to 63 characters of a-z 0-9 "
            ". and -, and begins and ends with a letter or digit"
        )
    prefix = prefix.rstrip("/")
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
    return Bucket(name, f"{prefix}/" if prefix else "")


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
