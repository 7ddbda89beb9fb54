"""What obstore raised, as a sentence: what is wrong, and what to do.

Of what a server says, only its code is passed on.
"""

from __future__ import annotations

from dataclasses import dataclass

from dask_blackbox.errors import (
    BlobNotFoundError,
    StoreDeniedError,
    StoreError,
    StoreNotFoundError,
    StoreUnreachableError,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.store.request import Request

_STATUS = bounded(r"status code: (\d{3})")
_CODE = bounded(r"<Code>([A-Za-z]{1,60})</Code>|\(code: (\d{3})\)")
_INVALID = bounded(r'invalid path: Path "([^"]{1,1100})"')
_NO_BUCKET = {"ContainerNotFound", "NoSuchBucket"}
_NOT_SIGNED_IN = ("token request", "credential", "Account must be specified")
_MISSING, _BUSY = 404, 429
_DENIED = (401, 403)
_SERVER = 500


@dataclass(frozen=True)
class Cloud:
    """A cloud as its users know it.

    Attributes:
        bucket: Its word for one.
        make: The command that makes a bucket.
        credentials: Where to leave credentials.
        roles: The role that a permission needs, by what was done.
    """

    bucket: str
    make: str
    credentials: str
    roles: dict[str, str]


CLOUDS = {
    "gs": Cloud(
        bucket="bucket",
        make="gcloud storage buckets create gs://{name}",
        credentials="run `gcloud auth application-default login`, set "
        "GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, or attach one "
        "to this machine or pod",
        roles={
            "write": "storage.objects.create (and .delete, to replace blobs)",
            "read": "storage.objects.get",
            "list": "storage.objects.list",
            "delete": "storage.objects.delete",
        },
    ),
    "az": Cloud(
        bucket="container",
        make="az storage container create --name {name}",
        credentials="set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, "
        "AZURE_STORAGE_CONNECTION_STRING, or AZURE_CLIENT_ID, AZURE_CLIENT_SECRET and "
        "AZURE_TENANT_ID; set AZURE_USE_AZURE_CLI=true after `az login`; or give this "
        "machine or pod a managed identity",
        roles=dict.fromkeys(
            ("write", "read", "list", "delete"), "Storage Blob Data Contributor"
        ),
    ),
}


def translated(error: Exception, request: Request) -> StoreError:
    """Return our error for one of obstore."""
    text = str(error)
    answer, code = _STATUS.search(text), _CODE.search(text)
    status = int(answer[1]) if answer else 0
    named = (code[1] or code[2]) if code else ""
    if isinstance(error, FileNotFoundError) or status == _MISSING:
        return _not_found(named, request)
    if invalid := _INVALID.search(text):
        return StoreError(
            f"{request.could_not}: it holds {invalid[1]!r}, a name that obstore cannot "
            "list; rename or delete that object, or record below a prefix of our own"
        )
    if any(each in text for each in _NOT_SIGNED_IN):
        return StoreDeniedError(
            f"{request.could_not}: no credentials were found, or they could not be "
            f"exchanged for a token; {CLOUDS[request.place.scheme].credentials}"
        )
    if answer:
        return _answered(status, named, request)
    right = "; is blackbox.store.endpoint right?" if request.options.endpoint else ""
    return StoreUnreachableError(
        f"{request.could_not}: no answer ({_first_line(text)}); check network, firewall "
        f"and DNS{right}"
    )


def _answered(status: int, code: str, request: Request) -> StoreError:
    said = f"{request.could_not}: the server answered {f'{status} {code}'.strip()}"
    if status in _DENIED:
        role = CLOUDS[request.place.scheme].roles.get(
            request.doing, CLOUDS[request.place.scheme].roles["read"]
        )
        return StoreDeniedError(
            f"{said}; check the credentials, and grant {role} on the "
            f"{CLOUDS[request.place.scheme].bucket}"
        )
    if status == _BUSY or status >= _SERVER:
        return StoreUnreachableError(f"{said}; retrying later may help")
    return StoreError(f"{said}; see its documentation")


def _not_found(code: str, request: Request) -> StoreError:
    cloud, name = CLOUDS[request.place.scheme], request.place.name
    if code not in _NO_BUCKET and request.doing in ("read", "delete", "link"):
        return BlobNotFoundError(request.name, request.place.url)
    return StoreNotFoundError(
        f"there is no {cloud.bucket} {name!r} at {request.server}; make it with "
        f"`{cloud.make.format(name=name)}`, or correct blackbox.store.url"
    )


def _first_line(text: str) -> str:
    """Return the first line of an error's text, cut, without its query, which may hold a signature."""
    line = text.partition("\n")[0]
    return bounded(r"\?[^\s]{0,}").sub("", bounded(r"//[^/\s]{0,}@").sub("//…@", line))[
        :200
    ]
