"""Messages of file systems, object stores, networks and databases."""

from __future__ import annotations

import re

from dask_blackbox.analyse.explanations.explained import (
    Context,
    Explain,
    Explained,
    in_one_line,
    place,
    says,
)
from dask_blackbox.analyse.frames import user_frame
from dask_blackbox.analyse.signatures import python
from dask_blackbox.analyse.signatures import services as lines
from dask_blackbox.formatting import as_code
from dask_blackbox.patterns import bounded

_LISTED = bounded(r"[\[(](?:\w+\()?(['\"])(?P<program>.+?)\1")
_OF_SHELL = bounded(r"[|;&<>$`=]")
_FEWER = (
    "Send fewer requests at a time: larger partitions, fewer threads per worker, "
    "retries with a growing delay (boto's `retries={'mode': 'adaptive'}`)."
)
_CODES = (
    (
        "NoSuchKey 404 NotFound NO_SUCH_KEY RESOURCE_NOT_FOUND",
        "{what} does not exist{called}",
        "Check that the job that writes it has run, and that the name is right.",
    ),
    (
        "NoSuchBucket NO_SUCH_BUCKET",
        "the bucket of {what} does not exist{called}",
        "Check the name of the bucket, and the endpoint and region that the workers use.",
    ),
    (
        "AccessDenied 403 Forbidden AllAccessDisabled ACCESS_DENIED",
        "access to {what} was denied{called}",
        (
            "The role or key of the workers needs `{permission}` there; without permission to "
            "list, a missing object is reported as denied, too."
        ),
    ),
    (
        (
            "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired "
            "EXPIRED_TOKEN InvalidToken"
        ),
        "the credentials for {what} have expired{called}",
        (
            "Don't pass temporary keys into tasks: let each worker get them from its role "
            "(`AWS_ROLE_ARN`, instance profile), which renews them."
        ),
    ),
    (
        "InvalidAccessKeyId SignatureDoesNotMatch UnrecognizedClientException",
        "{what} refused the access key{called}",
        "Check which `AWS_ACCESS_KEY_ID` the workers use; it may differ from the driver's.",
    ),
    (
        (
            "SlowDown Throttling ThrottlingException TooManyRequests 503 429 "
            "TooManyRequestsException RequestLimitExceeded ServiceUnavailable SLOW_DOWN"
        ),
        "the store asked to slow down ({code}) for {what}",
        _FEWER,
    ),
)
"""Codes of an object store, what each of them means, and what to do."""


def _aws(found: re.Match[str], context: Context) -> Explained | None:
    groups = found.groupdict()
    code, operation = groups["code"], groups["operation"]
    file = context.file
    if groups.get("key"):
        file = f"s3://{groups['bucket']}/{groups['key']}"
    return _explained_code(code, operation, groups.get("why"), file)


def _explained_code(
    code: str, operation: str | None, why: str | None, file: str | None
) -> Explained:
    called = f" ({operation})" if operation else ""
    for codes, headline, fix in _CODES:
        if code in codes.split():
            return Explained(
                headline.format(code=code, what=file or "the object", called=called),
                fix.replace("{permission}", _permission(operation)),
            )
    return Explained(f"{code}{called}: {why}".rstrip(": ") if why else code + called)


def _permission(operation: str | None) -> str:
    known = {"HeadObject": "s3:GetObject", "ListObjectsV2": "s3:ListBucket"}
    return known.get(
        operation or "", f"s3:{operation}" if operation else "s3:GetObject"
    )


def _means(code: str) -> Explain:
    """Return what explains a line as a store's code would be."""
    return lambda _, context: _explained_code(code, None, None, context.file)


def _no_endpoint(found: re.Match[str], context: Context) -> Explained:
    return Explained(
        f"cannot connect to {_service(found['file'])}",
        "Check the endpoint URL and region, and that workers can reach it (proxy, VPC).",
    )


def _service(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"


def _http(found: re.Match[str], context: Context) -> Explained | None:
    if "HTTP" not in context.exception and "http" not in context.message:
        return None
    code, why = found["code"], found["why"].strip()
    url = (found["file"] or context.file or "").partition("?")[0]
    at = f" from {url}" if url else ""
    fix = None
    if code in ("429", "503"):
        fix = _FEWER
    elif code in ("401", "403"):
        fix = "Check which credentials the workers have; a token may have expired."
    return Explained(f"HTTP {code} {why}{at}", fix)


def _retries(found: re.Match[str], context: Context) -> Explained:
    what = _http_address(context) or f"the service of {found['path']}"
    why = "did not answer"
    if lines.CONNECTION_REFUSED.search(context.message):
        why = "refused the connection"
    elif lines.NAME_NOT_RESOLVED.search(context.message):
        why = "could not be resolved"
    return Explained(f"{what} {why}")


def _proxy(found: re.Match[str], context: Context) -> Explained:
    """Explain that a request went through a proxy, which did not pass it on."""
    asked = lines.HTTP_RETRIES_EXCEEDED.search(context.message)
    path = asked["path"] if asked else context.file
    where = f" on the way to {path}" if path and "://" in path else ""
    refused = found[0].startswith("Tunnel")
    return Explained(
        f"the proxy {'refused to connect' if refused else 'could not be reached'}{where}",
        "The request went through the proxy that `http_proxy`, `https_proxy` or `all_proxy` "
        "names in the environment of this process, which may differ from the driver's. If the "
        "service can be reached without it, name its host in `no_proxy` where the process is "
        "started (many libraries do not read address ranges such as `10.0.0.0/8` there), or "
        "unset these variables.",
    )


_URL = bounded(r"\bhttps://[^/\s'\"\]]+")


def _not_trusted(found: re.Match[str], context: Context) -> Explained:
    """Explain that the certificate of a service is not one that this process trusts."""
    why = found["why"].strip().rstrip(".")
    url = _URL.search(context.message) or _URL.search(context.file or "")
    who = _service(url[0]) if url else _http_address(context) or "the service"
    fix = (
        "This process does not know the authority that signed it. Give the certificate of "
        "that authority to the processes of the workers and the driver: `AWS_CA_BUNDLE` "
        "(boto3, s3fs), `REQUESTS_CA_BUNDLE` (requests), `SSL_CERT_FILE` (Python), or "
        "`verify='/path/to/ca.pem'` where the client is made."
    )
    if "expired" in why or "not yet valid" in why:
        fix = "Renew the certificate of the service, and check the clock of this host."
    elif "mismatch" in why or "not valid for" in why:
        fix = "Ask for the service by a name that its certificate has."
    return Explained(f"the certificate of {who} is not trusted ({why})", fix)


def _read_timed_out(found: re.Match[str], context: Context) -> Explained:
    within = f" within {found['limit']} s" if found["limit"] else " in time"
    address = _http_address(context)
    frame = user_frame(context.traceback)
    at = (
        f" at {as_code(frame.code)}" if address is None and frame and frame.code else ""
    )
    return Explained(f"{address or 'the service'} sent nothing{within}{at}")


def _http_address(context: Context) -> str | None:
    """Return host and port, which the exception or one that it was raised for may name."""
    found = lines.HTTP_ADDRESS.search(f"{context.message}\n{context.traceback}")
    return f"{found['host']}:{found['port']}" if found else None


_NOT_FOUND = "127"


def _program(found: re.Match[str], context: Context) -> Explained:
    command = found["command"]
    if found["status"] == _NOT_FOUND and _LISTED.match(command) is None:
        name = f"'{command.split()[0]}'" if command.split() else "the command"
        return Explained(
            headline=f"the shell did not find {name} (exit status {_NOT_FOUND})",
            fix=f"The shell did not find {name} (exit status {_NOT_FOUND}): install it where "
            "the workers run, or call it by its full path; their `PATH` may be another one.",
        )
    if found["status"]:
        how = f"returned exit status {found['status']}"
    elif found["limit"]:
        # Python prints what was left of it when the wait began: `0.09997921899775974`.
        how = f"exceeded its timeout of {round(float(found['limit']), 1):g} s"
    else:
        how = f"was killed by {found['signal'] or 'signal ' + found['number']}"
    text = (found["stderr"] or context.printed or "").strip() or command
    last = in_one_line(text.splitlines()[-1] if text != command else command)
    return Explained(headline=f"{_name_of_program(command)} {how}: {last}")


def _name_of_program(command: str) -> str:
    """Return what was started: of `['/usr/bin/gdalwarp', …]`, `gdalwarp`."""
    listed = _LISTED.match(command)
    if listed is None and _OF_SHELL.search(command):
        return "the shell"
    words = [listed["program"]] if listed else command.split()
    return words[0].rpartition("/")[2] if words else "the program"


def _relative(file: str) -> str:
    """Explain that a relative path depends on the process's working directory."""
    if file.startswith(("/", "~", "\\")) or ":" in file[:12]:
        return ""
    if "/" not in file and "." not in file:
        return ""  # it may be a program
    return ", relative to the working directory of that process"


def _no_file(found: re.Match[str], _: Context) -> Explained:
    return Explained(
        headline=f"{found['file']} does not exist{_relative(found['file'])}",
        missing_file=found["file"],
    )


def _encoding(found: re.Match[str], context: Context) -> Explained:
    name = (context.file or "").rpartition("/")[2] or "the text"
    byte = f" (byte {found['found']} at {found['position']})" if found["found"] else ""
    return Explained(
        headline=f"{name} is not encoded as {found['expected']}{byte}",
        fix="Pass its encoding: `encoding='latin-1'`, or `'cp1252'` for Windows.",
        of_values=True,
    )


def _no_database(found: re.Match[str], _: Context) -> Explained:
    why = found["why"].strip()
    return Explained(f"database at {found['host']}:{found['port']}: {why}")


def _no_table(found: re.Match[str], context: Context) -> Explained:
    table = found["table"] or found["relation"]
    return Explained(
        headline=f"no table '{table}'{place(context.file)}",
        fix="Check which database and schema the workers connect to, and whether it was "
        "migrated.",
    )


def _no_sql_column(found: re.Match[str], context: Context) -> Explained:
    column = found["column"] or found["quoted"]
    return Explained(f"no column '{column}'{place(context.file)}", column=column)


def _of_url(what: str) -> Explain:
    """Return what explains that the server of a URL did something; of files it means nothing."""

    def explain(_: re.Match[str], context: Context) -> Explained | None:
        known = "://" in (context.file or "")
        return Explained(f"{context.file} {what}") if known else None

    return explain


def _reset(_: re.Match[str], context: Context) -> Explained | None:
    if "://" not in (context.file or ""):
        return None
    return Explained(f"{_service(context.file or '')} reset the connection")


OF_PROGRAMS = ((python.PROGRAM_FAILED, _program),)
"""What comes before all others: the command of a program may have anything in it."""

EXPLANATIONS = (
    (lines.AWS_REFUSED, _aws),
    (lines.ARROW_AWS_REFUSED, _aws),
    (lines.S3_KEY_MISSING, _means("NoSuchKey")),
    (lines.S3_DENIED, _means("AccessDenied")),
    (
        lines.AWS_NO_CREDENTIALS,
        says(
            "no AWS credentials where {file} was opened",
            "Give workers a role or environment variables; they do not have `~/.aws` of "
            "the driver's machine.",
        ),
    ),
    (lines.AWS_UNREACHABLE, _no_endpoint),
    (lines.PROXY_FAILED, _proxy),
    (python.CERTIFICATE_NOT_VERIFIED, _not_trusted),
    (lines.HTTP_RETRIES_EXCEEDED, _retries),
    (lines.HTTP_READ_TIMED_OUT, _read_timed_out),
    (lines.HTTP_REFUSED, _http),
    (lines.NO_SUCH_FILE, _no_file),
    (
        lines.FILE_PERMISSION_DENIED,
        says(
            "no permission for {file}",
            "Check which user the workers run as, and its permissions there.",
        ),
    ),
    (lines.NOT_THAT_ENCODING, _encoding),
    (lines.DATABASE_UNREACHABLE, _no_database),
    (lines.NO_SUCH_TABLE, _no_table),
    (lines.NO_SUCH_SQL_COLUMN, _no_sql_column),
    (
        lines.DATABASE_LOCKED,
        says(
            "the SQLite database is locked{place}",
            "SQLite lets one process write at a time: write from one task, raise "
            "`timeout=`, or use a database server.",
        ),
    ),
    (lines.CONNECTION_RESET, _reset),
    (lines.CONNECTION_REFUSED, _of_url("refused the connection")),
    (lines.NAME_NOT_RESOLVED, _of_url("is on a host that could not be resolved")),
)
"""Rows of the catalogue, each with what makes an explanation of it."""
