"""Whether a retry helps after an exception of a class, and how sure that is.

Only a closed list of programming errors surely fails again: by its class, or by one that
the class derives from.  A class whose name says that it passes (`PoolTimeout`,
`UpstreamNotReady`) often does.  Of every other class nothing is known, and nothing is said.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from dask_blackbox.analyse.frames import is_from_a_listing, is_of_environment
from dask_blackbox.analyse.signatures.distributed import GRAPH_HAS_A_CYCLE
from dask_blackbox.analyse.signatures.frequent import (
    MOUNT_NOT_SERVED,
    NO_LOCKS_AVAILABLE,
    NUMBA_CANNOT_CACHE,
)
from dask_blackbox.analyse.signatures.python import (
    CERTIFICATE_NOT_VERIFIED,
    FILE_TOO_LARGE,
)
from dask_blackbox.analyse.signatures.services import AWS_REFUSED, PROXY_FAILED
from dask_blackbox.finding import Confidence, RetryAdvice
from dask_blackbox.formatting import class_of
from dask_blackbox.patterns import bounded


class Advice(NamedTuple):
    """Whether a retry helps, and how sure that is."""

    advice: RetryAdvice
    confidence: Confidence


UNKNOWN = Advice("unknown", "low")

_TRANSIENT = bounded(
    r"""
    (?: Timeout(?:Error|Exception)? | TimedOut(?:Error)?
    | RateLimit\w* | Throttl\w* | TooManyRequests\w* | SlowDown
    | NotReady\w* | Unavailable\w* | Temporar\w* | Transient\w* | Retryable\w* | TryAgain\w*
    | Overload\w* | Busy(?:Error|Exception)? | Deadlock\w* | SerializationFailure
    | Connection(?:Error|Exception|(?:Reset|Refused|Aborted|Closed|Lost|Dropped)\w*)
    | CommClosedError | Disconnected\w* | BrokenPipeError | IncompleteRead | ProtocolError
    | Pool(?:Error|Exhausted\w*|Full\w*)
    )$
    """,
    re.VERBOSE,
)
"""Names of classes that often pass by themselves, by how they end."""

_PERMANENT: dict[RetryAdvice, frozenset[str]] = {
    "code": frozenset((
        "AttributeError", "NameError", "NotImplementedError", "PicklingError",
        "RecursionError", "SyntaxError", "TypeError", "ZeroDivisionError",
    )),
    "environment": frozenset(("ImportError",)),
}  # fmt: skip
"""What is wrong in the program or around it, whatever it reads: closed, and inherited."""

_USUALLY_PERMANENT: dict[RetryAdvice, frozenset[str]] = {
    "code": frozenset((
        "ArithmeticError", "AssertionError", "IndexError", "ProgrammingError",
        "StopIteration", "ValueError",
    )),
    "data": frozenset((
        "ArrowInvalid", "ArrowKeyError", "ArrowTypeError", "BadGzipFile", "BadZipFile",
        "ColumnNotFoundError", "EOFError", "EmptyDataError", "FileNotFoundError", "IntCastingNaNError", "IntegrityError",
        "InvalidOperation", "IsADirectoryError", "JSONDecodeError", "KeyError",
        "LZMAError", "LinAlgError", "LookupError", "MergeError", "NoDataError", "NotADirectoryError",
        "OutOfBoundsDatetime", "ParserError", "SchemaError", "SchemaErrors",
        "SchemaFieldNotFoundError", "ShapeError", "UnicodeError", "UnpicklingError",
        "ValidationError",
    )),
    "environment": frozenset((
        "DefaultCredentialsError", "NoCredentialsError", "PartialCredentialsError",
        "PermissionError",
    )),
}  # fmt: skip
"""What the same input raises again; but a missing file may exist a minute later."""

_MEMORY = frozenset(("MemoryError",))
_TRANSIENT_WORDS = bounded(
    r"\b(?:429|502|503|504)\b|rate.?limit|too many requests|throttl|\bquota\b|temporar"
    r"|try(?:ing)? again|retry|timed? ?out|connection (?:was )?(?:reset|refused|aborted)"
    r"|not (?:yet )?(?:ready|available)",
    re.IGNORECASE,
)
_LIMITED = bounded(
    r"rate.?limit(?:ed|s)? (?:exceeded|reached)|too many requests|throttl(?:ed|ing)"
    r"|\bSlow ?Down\b|reduce your request rate",
    re.IGNORECASE,
)
"""What a service says that accepts the same request later."""
_REFUSED_BY_AWS = frozenset((
    "403", "AccessDenied", "AccessDeniedException", "AllAccessDisabled", "Forbidden",
    "InvalidAccessKeyId", "NoSuchBucket", "SignatureDoesNotMatch",
    "UnrecognizedClientException",
))  # fmt: skip
"""What is wrong with a role, a key or the name of a bucket, whatever is read."""
NO_SPACE = bounded(
    r"No space left on device|(?:database or )?disk is full|[Dd]isk quota exceeded"
    r"|not enough (?:free |disk )*space|could not extend file",
    re.IGNORECASE,
)
"""What systems, databases and libraries say of a disk that is full."""

_NETWORK_PACKAGES = frozenset((
    "adlfs", "aiobotocore", "aiohttp", "asyncpg", "azure", "boto3", "botocore",
    "cassandra", "clickhouse_connect", "confluent_kafka", "databricks", "duckdb",
    "elasticsearch", "fsspec", "gcsfs", "google", "grpc", "http", "httpcore", "httpx",
    "kafka", "minio", "mysql", "oracledb", "paramiko", "psycopg", "psycopg2", "pymongo",
    "pymssql", "pymysql", "pyodbc", "redis", "requests", "s3fs", "smbclient",
    "snowflake", "socket", "sqlalchemy", "sqlite3", "ssl", "tenacity", "trino",
    "urllib", "urllib3",
))  # fmt: skip
"""Libraries that talk to networks, stores and databases: their own classes may pass."""


def passes(qualified: str) -> bool:
    """Return whether a class is named like one that often passes by itself."""
    return _TRANSIENT.search(class_of(qualified)) is not None


def advice_on_class(qualified: str, bases: Iterable[str] = ()) -> Advice:
    """Return the advice on an exception of which only the class is known.

    Args:
        qualified: Its name with its module, as recorded (builtins without one).
        bases: What it derives from, likewise, in the order in which Python looks.
    """
    builtin = _bases_of_builtin(qualified)
    for each in (qualified, *(tuple(bases) or builtin)):
        # A class derived from `ValueError` has a meaning of its own.
        reported = _advice_for_class(each, closed=each != qualified and not builtin)
        if reported is not None:
            return reported
    return UNKNOWN


def _advice_for_class(qualified: str, *, closed: bool) -> Advice | None:
    """Return the advice on one class of an exception's bases; None if there is none.

    Args:
        closed: Of what fails again, only the closed list counts.
    """
    name = class_of(qualified)
    if passes(qualified):
        return Advice("transient", "medium")
    if name in _MEMORY or name == "_ArrayMemoryError":
        return Advice("memory", "high")
    for advice, names in _PERMANENT.items():
        if name in names:
            return Advice(advice, "high")
    for advice, names in _USUALLY_PERMANENT.items():
        if name in names and not closed:
            return Advice(advice, "medium")
    return UNKNOWN if qualified.partition(".")[0] in _NETWORK_PACKAGES else None


@cache
def _bases_of_builtin(qualified: str) -> tuple[str, ...]:
    kind = getattr(builtins, qualified.removeprefix("builtins."), None)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        return ()
    return tuple(_names(kind))[1:]


def advice_on_text(
    qualified: str, message: str, bases: Iterable[str] = (), traceback: str = ""
) -> Advice:
    """Return the advice on an exception of which class and message are known.

    Args:
        qualified: Its name with its module.
        message: Its text: a message about limits or a later time may pass.
        bases: As of `advice_on_class`.
        traceback: Its traceback, if that is known.
    """
    if qualified == "KeyError" and is_of_environment(traceback):
        return Advice("environment", "high")
    if is_from_a_listing(traceback):
        # A new process asks the store.
        return Advice("transient", "medium")
    if _is_of_the_surroundings(message):
        return Advice("environment", "medium")
    if GRAPH_HAS_A_CYCLE.search(message):
        return Advice("code", "high")
    reported = advice_on_class(qualified, bases)
    may_fail_again = (
        reported.advice in ("code", "data") and reported.confidence != "high"
    )
    if (may_fail_again or reported.advice == "unknown") and is_of_a_limit(message):
        return Advice("transient", "medium")
    return UNKNOWN if may_fail_again and _may_pass(qualified, message) else reported


def _is_of_the_surroundings(message: str) -> bool:
    """Return whether a message is about a disk, a mount, a right, a proxy or a certificate."""
    # What fills a disk may be gone with the run that filled it.
    known = (
        NO_SPACE,
        FILE_TOO_LARGE,
        PROXY_FAILED,
        CERTIFICATE_NOT_VERIFIED,
        NO_LOCKS_AVAILABLE,
        MOUNT_NOT_SERVED,
        NUMBA_CANNOT_CACHE,
    )
    refused = AWS_REFUSED.search(message)
    return any(each.search(message) for each in known) or (
        refused is not None and refused["code"] in _REFUSED_BY_AWS
    )


def _may_pass(qualified: str, message: str) -> bool:
    """Return whether a message has a word of what passes; that of a KeyError is a key."""
    is_key = class_of(qualified) == "KeyError" and " " not in message.strip()
    return not is_key and _TRANSIENT_WORDS.search(message) is not None


def is_of_a_limit(message: str) -> bool:
    """Return whether a message is a service's that allows fewer requests at a time."""
    return _LIMITED.search(message) is not None


def advice_on(error: BaseException) -> Advice:
    """Return the advice on an exception object."""
    name, *bases = _names(type(error))
    return advice_on_text(name, str(error), bases)


def _names(kind: type[BaseException]) -> Iterator[str]:
    for each in kind.__mro__:
        if each is object:
            return
        builtin = each.__module__ == "builtins"
        yield each.__qualname__ if builtin else f"{each.__module__}.{each.__qualname__}"
