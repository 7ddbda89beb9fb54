"""What boto3 raised, as a sentence: what is wrong, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable

from dask_blackbox.errors import (
    StoreDeniedError,
    StoreError,
    StoreUnreachableError,
)
from dask_blackbox.store.s3_answers import Request, answered, not_s3, plain

_CREDENTIALS = (
    "set blackbox.store.profile (or AWS_PROFILE), or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY in the environment, or give this machine a role "
    "(instance profile, IRSA, task role)"
)


def translated(error: Exception, request: Request) -> StoreError:
    """Return our error for one of botocore, urllib3 or the operating system."""
    from botocore.exceptions import ClientError

    if isinstance(error, ClientError):
        return answered(error.response, request)
    why = plain(str(error), request)
    # By name, as botocore's parser keeps one of its exceptions to itself.
    for kind in type(error).__mro__:
        explain = _SENTENCES.get(kind.__name__)
        if explain is not None:
            return explain(why, request)
    return StoreError(f"{request.could_not}: {type(error).__name__}: {why}")


def _no_profile(why: str, request: Request) -> StoreError:
    return StoreDeniedError(
        f"{why}; `aws configure list-profiles` lists them, blackbox.store.profile or "
        "AWS_PROFILE names one"
    )


def _no_credentials(why: str, request: Request) -> StoreError:
    return StoreDeniedError(
        f"{request.could_not}: no credentials were found; {_CREDENTIALS}"
    )


def _no_login(why: str, request: Request) -> StoreError:
    return StoreDeniedError(
        f"{request.could_not}: the credentials could not be fetched ({why}); log in "
        f"again (`aws sso login`), or {_CREDENTIALS}"
    )


def _no_tls(why: str, request: Request) -> StoreError:
    return StoreUnreachableError(
        f"{request.could_not}: no TLS connection ({why}); if the server has a "
        "certificate of its own, name its authority's file in AWS_CA_BUNDLE; if it "
        "speaks plain HTTP, begin blackbox.store.endpoint with http://"
    )


def _no_proxy(why: str, request: Request) -> StoreError:
    return StoreUnreachableError(
        f"{request.could_not}: the proxy cannot be reached ({why}); correct "
        "HTTPS_PROXY, or name the server in NO_PROXY"
    )


def _too_late(why: str, request: Request) -> StoreError:
    options = request.options
    return StoreUnreachableError(
        f"{request.could_not}: no answer within {options.connect_timeout:g} s to "
        f"connect and {options.read_timeout:g} s to read (attempts: "
        f"{options.attempts}); check network, firewall and VPC endpoint, or raise "
        "blackbox.store.connect-timeout and .read-timeout"
    )


def _nothing_there(why: str, request: Request) -> StoreError:
    # The query of the request says nothing of the server, and is long.
    why = re.sub(r"\?[^\"\s]*", "", why)
    return StoreUnreachableError(
        f"{request.could_not}: {why}; is that server running, and is "
        "blackbox.store.endpoint right?"
    )


def _not_s3(why: str, request: Request) -> StoreError:
    return not_s3(request)


def _wrong_setting(why: str, request: Request) -> StoreError:
    return StoreError(f"{request.could_not}: {why}; correct blackbox.store")


_SENTENCES: dict[str, Callable[[str, Request], StoreError]] = {
    "ProfileNotFound": _no_profile,
    "NoCredentialsError": _no_credentials,
    "PartialCredentialsError": _no_credentials,
    "CredentialRetrievalError": _no_login,
    "TokenRetrievalError": _no_login,
    "SSOError": _no_login,
    "MetadataRetrievalError": _no_login,
    "SSLError": _no_tls,
    "ProxyConnectionError": _no_proxy,
    "ConnectTimeoutError": _too_late,
    "ReadTimeoutError": _too_late,
    "ConnectionError": _nothing_there,
    "HTTPClientError": _nothing_there,
    "IncompleteReadError": _nothing_there,
    "OSError": _nothing_there,
    "ResponseParserError": _not_s3,
    "ParamValidationError": _wrong_setting,
    "InvalidRegionError": _wrong_setting,
    "InvalidConfigError": _wrong_setting,
}
"""By the nearest class of the exception; both of Python and of botocore."""
