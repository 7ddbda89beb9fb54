"""What boto3 raised or an S3 server answered, as a sentence: what is wrong, and what to do.

Nothing that the server says is passed on without `plain`, which takes credentials out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from dask_blackbox.errors import (
    BlobNotFoundError,
    StoreDeniedError,
    StoreError,
    StoreNotFoundError,
    StoreUnreachableError,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.store.request import Request

_PERMISSIONS = {
    "write": "s3:PutObject",
    "read": "s3:GetObject",
    "list": "s3:ListBucket",
    "delete": "s3:DeleteObject",
}
_BUSY = {
    "SlowDown",
    "ServiceUnavailable",
    "InternalError",
    "RequestTimeout",
    "RequestTimeoutException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "OperationAborted",
    "ConditionalRequestConflict",
    "BadDigest",
    "IncompleteBody",
}


Answer = Mapping[str, Any]
"""What boto3 parsed of a server's answer."""


Explain = Callable[[Any, Request], StoreError]
"""Makes a sentence of an answer, or of the text of an exception."""


def _advice(kind: type[StoreError], text: str) -> Explain:
    """Return what makes an error of a text, with the names of the request in it.

    Args:
        text: `{why}` is what the server or boto3 said.
    """

    def explain(said: Answer | str, request: Request) -> StoreError:
        why = said if isinstance(said, str) else _answer_text(said, request)
        return kind(
            text.format(
                could_not=request.could_not,
                server=request.server,
                bucket=request.place.name,
                options=request.options,
                why=why,
            )
        )

    return explain


def answered(answer: Answer, request: Request) -> StoreError:
    """Return our error for what a server answered (botocore's `ClientError.response`)."""
    code = str(answer.get("Error", {}).get("Code", ""))
    status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in {"NoSuchKey", "404"} and request.doing == "read":
        return BlobNotFoundError(request.name, request.place.url)
    if code in {"404", "405"}:  # S3 never answers so without a message
        return not_s3(request)
    explain = _BY_CODE.get(code) or _STATUSES.get(status)
    if explain is None:
        busy = code in _BUSY or status >= 500  # noqa: PLR2004
        explain = _busy if busy else _refused
    return explain(answer, request)


_NOT_S3 = "{could_not}: the server does not speak S3; correct blackbox.store.endpoint"


def not_s3(request: Request) -> StoreError:
    """Return what to say where something else than S3 answers."""
    return _advice(StoreError, _NOT_S3)("", request)


def incomplete(answer: Answer, request: Request) -> StoreError:
    """Return what to say of an answer that says it succeeded, and lacks what S3 sends."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    if "html" in headers.get("content-type", ""):
        return not_s3(request)
    return StoreUnreachableError(
        f"{request.could_not}: the answer was truncated; retrying later may help"
    )


def _busy(answer: Answer, request: Request) -> StoreError:
    advice = "retrying later may help"
    if str(answer.get("Error", {}).get("Code", "")).isdigit():
        # So botocore takes every page that S3 would not have sent.
        advice += "; if not, the server may not speak S3"
    return StoreUnreachableError(
        f"{request.could_not}: {_answer_text(answer, request)}; {advice}"
    )


_refused = _advice(StoreError, "{could_not}: {why}; see the server's documentation")


def _answer_text(answer: Answer, request: Request) -> str:
    error = answer.get("Error", {})
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
    text = plain(str(error.get("Message") or "no reason given"), request)
    return f"the server answered {status} {error.get('Code')} ({text})"


def _no_bucket(answer: Answer, request: Request) -> StoreError:
    options, name = request.options, request.place.name
    command = f"aws s3 mb s3://{name}"
    if options.endpoint:
        command += f" --endpoint-url {options.endpoint}"
    if options.region:
        command += f" --region {options.region}"
    return StoreNotFoundError(
        f"there is no bucket {name!r} at {request.server}; make it with `{command}`, "
        "or correct blackbox.store.url"
    )


def _denied(answer: Answer, request: Request) -> StoreError:
    place = request.place
    arn = place.arn
    if request.doing != "list":
        arn = f"{place.arn_of_objects}{place.prefix}*"
    needed = f"{_PERMISSIONS.get(request.doing, 's3:GetObject')} on {arn}"
    if request.options.sse == "aws:kms" and request.doing == "write":
        needed += " and kms:GenerateDataKey on the KMS key"
    elif request.options.sse == "aws:kms" and request.doing == "read":
        needed += " and kms:Decrypt on the KMS key"
    absent = (
        " (without s3:ListBucket, S3 gives the same answer for a blob that is not there)"
        if request.doing == "read"
        else ""
    )
    return StoreDeniedError(
        f"{request.could_not}: these credentials lack the permission; "
        f"grant {needed}{absent}"
    )


def _skewed(answer: Answer, request: Request) -> StoreError:
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    apart = ""
    try:
        there = parsedate_to_datetime(headers["date"]).timestamp()
        apart = f" ({abs(time.time() - there):.0f} s apart)"
    except (KeyError, TypeError, ValueError):
        pass
    return StoreDeniedError(
        f"{request.could_not}: the clocks of this machine and of the server differ too "
        f"much{apart}; set this machine's clock (NTP)"
    )


def _elsewhere(answer: Answer, request: Request) -> StoreError:
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    region = headers.get("x-amz-bucket-region") or answer.get("Error", {}).get("Region")
    return StoreError(
        f"{request.could_not}: the bucket is in another region than "
        f"{request.options.region or 'the configured one'}; set blackbox.store.region "
        + (f"to {region}" if region else "to the bucket's")
    )


def _old_server(answer: Answer, request: Request) -> StoreError:
    advice = (
        "set blackbox.store.checksum: when_required, because older S3 servers don't "
        "support the checksums that boto3 sends"
    )
    if request.options.checksum == "when_required":
        advice = "this server lacks an S3 feature"
    if request.options.sse:
        advice += ", or remove blackbox.store.sse, which few servers support"
    return StoreError(f"{request.could_not}: {_answer_text(answer, request)}; {advice}")


_expired = _advice(
    StoreDeniedError,
    "{could_not}: the temporary credentials have expired or are not valid; get new ones "
    "(for a profile with SSO: `aws sso login`)",
)
_kms = _advice(
    StoreDeniedError,
    "{could_not}: the KMS key cannot be used: {why}; check blackbox.store.sse-kms-key-id: "
    "it must be enabled and in the bucket's region",
)
_suspended = _advice(
    StoreDeniedError,
    "{could_not}: this account is suspended or not signed up; ask the operator of the store",
)
_BY_CODE: dict[str, Explain] = {
    **dict.fromkeys(
        (
            "PermanentRedirect",
            "TemporaryRedirect",
            "AuthorizationHeaderMalformed",
            "IllegalLocationConstraintException",
        ),
        _elsewhere,
    ),
    "NoSuchBucket": _no_bucket,
    "InvalidBucketName": _advice(
        StoreNotFoundError,
        "{server} says that {bucket!r} is not a valid bucket name; correct "
        "blackbox.store.url",
    ),
    "AccessDenied": _denied,
    "SignatureDoesNotMatch": _advice(
        StoreDeniedError,
        "{could_not}: the secret key does not belong to the access key; copy both again (a "
        "secret with + or / is easily truncated)",
    ),
    "InvalidAccessKeyId": _advice(
        StoreDeniedError,
        "{could_not}: {server} does not know the access key; if the bucket is on another "
        "server, set blackbox.store.endpoint; otherwise use an access key of an account "
        "there",
    ),
    **dict.fromkeys(
        (
            "ExpiredToken",
            "ExpiredTokenException",
            "InvalidToken",
            "TokenRefreshRequired",
            "RequestExpired",
        ),
        _expired,
    ),
    "RequestTimeTooSkewed": _skewed,
    "MissingContentLength": _old_server,
    "NotImplemented": _old_server,
    "KMS.NotFoundException": _kms,
    "KMS.DisabledException": _kms,
    "KMS.KMSInvalidStateException": _kms,
    "KMS.InvalidKeyUsageException": _kms,
    "QuotaExceeded": _advice(
        StoreError,
        "{could_not}: the quota of this bucket or account is used up; delete old "
        "recordings or raise it",
    ),
    "UserSuspended": _suspended,
    "AccountProblem": _suspended,
    "NotSignedUp": _suspended,
}
_STATUSES: dict[int, Explain] = {
    301: _elsewhere,
    307: _elsewhere,
    403: _denied,
    404: _no_bucket,
    411: _old_server,
    429: _busy,
    501: _old_server,
}
"""For codes that are not listed, and for answers without any."""


_KEY_ID = bounded(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b")
_SIGNED = bounded(
    r"(?i)((?:credential|signature|security-?token|accesskeyid)\W{1,3})[^,&\s\"'<>]+"
)


def plain(text: str, request: Request) -> str:
    """Return a server's message in one line, short, and without credentials."""
    for hidden in (request.options.secret, request.options.key):
        if hidden:
            text = text.replace(hidden, "…")
    text = bounded(r"//[^/\s]{0,}@").sub("//…@", " ".join(text.split()))
    # Of credentials that were not given to us, as boto3 found them itself.
    text = _KEY_ID.sub("…", _SIGNED.sub(r"\1…", text))
    return text if len(text) <= 300 else f"{text[:300]}…"  # noqa: PLR2004


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
        explain = _BY_TYPE.get(kind.__name__)
        if explain is not None:
            return explain(why, request)
    return StoreError(f"{request.could_not}: {type(error).__name__}: {why}")


def _nothing_there(why: str, request: Request) -> StoreError:
    # The query of the request says nothing of the server, and is long.
    why = bounded(r"\?[^\"\s]{0,}").sub("", why)
    return StoreUnreachableError(
        f"{request.could_not}: {why}; is that server running, and is "
        "blackbox.store.endpoint right?"
    )


_no_credentials = _advice(
    StoreDeniedError, "{could_not}: no credentials were found; " + _CREDENTIALS
)
_no_login = _advice(
    StoreDeniedError,
    "{could_not}: the credentials could not be fetched ({why}); log in again "
    "(`aws sso login`), or " + _CREDENTIALS,
)
_too_late = _advice(
    StoreUnreachableError,
    "{could_not}: no answer within {options.connect_timeout:g} s to connect and "
    "{options.read_timeout:g} s to read (attempts: {options.attempts}); check network, "
    "firewall and VPC endpoint, or raise blackbox.store.connect-timeout and .read-timeout",
)
_wrong_setting = _advice(StoreError, "{could_not}: {why}; correct blackbox.store")
_BY_TYPE: dict[str, Explain] = {
    "ProfileNotFound": _advice(
        StoreDeniedError,
        "{why}; `aws configure list-profiles` lists them, blackbox.store.profile or "
        "AWS_PROFILE names one",
    ),
    "NoCredentialsError": _no_credentials,
    "PartialCredentialsError": _no_credentials,
    "CredentialRetrievalError": _no_login,
    "TokenRetrievalError": _no_login,
    "SSOError": _no_login,
    "MetadataRetrievalError": _no_login,
    "SSLError": _advice(
        StoreUnreachableError,
        "{could_not}: no TLS connection ({why}); if the server has a certificate of its "
        "own, name its authority's file in blackbox.store.ca-bundle or AWS_CA_BUNDLE; if "
        "it speaks plain HTTP, begin blackbox.store.endpoint with http://",
    ),
    "ProxyConnectionError": _advice(
        StoreUnreachableError,
        "{could_not}: the proxy cannot be reached ({why}); correct HTTPS_PROXY, or name "
        "the server in NO_PROXY",
    ),
    "ConnectTimeoutError": _too_late,
    "ReadTimeoutError": _too_late,
    "ConnectionError": _nothing_there,
    "HTTPClientError": _nothing_there,
    "IncompleteReadError": _nothing_there,
    "OSError": _nothing_there,
    "ResponseParserError": _advice(StoreError, _NOT_S3),
    "ParamValidationError": _wrong_setting,
    "InvalidRegionError": _wrong_setting,
    "InvalidConfigError": _wrong_setting,
}
"""By the nearest class of the exception; both of Python and of botocore."""
