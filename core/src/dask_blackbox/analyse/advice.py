"""Would trying again help, after an exception of this class?

The same task on the same input fails in the same way, unless something outside has had a
part in it.  Of libraries that talk to such things, only what is known to pass is told to
pass; for the rest of theirs, nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dask_blackbox.analyse.words import class_of
from dask_blackbox.finding import RetryAdvice

__all__ = ["NO_SPACE", "PASSING", "advice_on", "advice_on_class", "advice_on_text"]

PASSING = frozenset((
    "BrokenPipeError", "ConnectTimeout", "ConnectTimeoutError", "ConnectionAbortedError",
    "ConnectionClosedError", "ConnectionError", "ConnectionRefusedError",
    "ConnectionResetError", "EndpointConnectionError", "IncompleteRead", "ProtocolError",
    "RateLimitError", "ReadTimeout", "ReadTimeoutError", "ServerDisconnectedError",
    "ServiceUnavailable", "SlowDown", "ThrottlingException", "Timeout", "TimeoutError",
    "TooManyRequests",
))  # fmt: skip
"""Classes of exceptions that often pass by themselves."""

_DATA = frozenset(
    ("FileNotFoundError", "KeyError", "ParserError", "UnicodeDecodeError")
)
_ENVIRONMENT = frozenset(("ImportError", "ModuleNotFoundError", "PermissionError"))
_MEMORY = frozenset(("MemoryError", "_ArrayMemoryError"))
_OUTSIDE = frozenset((
    "BlockingIOError", "BrokenExecutor", "BrokenProcessPool", "CalledProcessError",
    "EnvironmentError", "IOError", "OSError", "TimeoutExpired",
))  # fmt: skip
_PASSING_WORDS = re.compile(
    r"\b(?:429|502|503|504)\b|rate.?limit|too many requests|throttl|\bquota\b|temporar"
    r"|try(?:ing)? again|retry|timed? ?out|connection (?:was )?(?:reset|refused|aborted)",
    re.IGNORECASE,
)
NO_SPACE = re.compile(
    r"No space left on device|(?:database or )?disk is full|[Dd]isk quota exceeded"
    r"|not enough (?:free |disk )*space|could not extend file",
    re.IGNORECASE,
)
"""What systems, databases and libraries say of a disk that is full."""

_TALKERS = frozenset((
    "adlfs", "aiobotocore", "aiohttp", "asyncpg", "azure", "boto3", "botocore",
    "cassandra", "clickhouse_connect", "confluent_kafka", "databricks", "duckdb",
    "elasticsearch", "fsspec", "gcsfs", "google", "grpc", "http", "httpcore", "httpx",
    "kafka", "minio", "mysql", "oracledb", "paramiko", "psycopg", "psycopg2", "pymongo",
    "pymssql", "pymysql", "pyodbc", "redis", "requests", "s3fs", "smbclient",
    "snowflake", "socket", "sqlalchemy", "sqlite3", "ssl", "tenacity", "trino",
    "urllib", "urllib3",
))  # fmt: skip
"""Libraries that talk to networks, stores and databases."""


def advice_on_class(qualified: str) -> RetryAdvice:
    """Return the advice on an exception of which only the class is known.

    Args:
        qualified: Its name with its module, as recorded (builtins without one).
    """
    name = class_of(qualified)
    if name in PASSING:
        return "transient"
    if name in _DATA:
        return "data"
    if name in _ENVIRONMENT:
        return "environment"
    if name in _MEMORY:
        return "memory"
    if name in _OUTSIDE or qualified.partition(".")[0] in _TALKERS:
        return "unknown"
    return "code"


def advice_on_text(qualified: str, message: str) -> RetryAdvice:
    """Return the advice on an exception of which class and message are known.

    Args:
        qualified: Its name with its module.
        message: Its text: what speaks of limits, or of other times, may pass.
    """
    if NO_SPACE.search(message):
        return "environment"
    advice = advice_on_class(qualified)
    if advice == "code" and _PASSING_WORDS.search(message):
        return "unknown"
    return advice


def advice_on(error: BaseException) -> RetryAdvice:
    """Return the advice on an exception that is at hand, base classes included."""
    told = (advice_on_class(name) for name in _names(type(error)))
    return next((advice for advice in told if advice != "code"), "code")


def _names(kind: type[BaseException]) -> Iterable[str]:
    for each in kind.__mro__:
        builtin = each.__module__ == "builtins"
        yield each.__qualname__ if builtin else f"{each.__module__}.{each.__qualname__}"
