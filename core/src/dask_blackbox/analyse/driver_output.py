"""What the driver and its programs printed, apart from Dask's own lines."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import polars as pl

from dask_blackbox.run_tables import RunTables

# Loggers of Dask and of what it brings. Their lines reach stderr in the format of
# `distributed.admin.log-format`, or as its loggers' own rows.
OF_DASK = r"(?:distributed|dask|dask_blackbox|tornado|bokeh|asyncio|py\.warnings)\b"
_PRINTED_BY_THEM = rf"\S+ \S+ - {OF_DASK}\S* - [A-Z]+ - "
_ERRORS_OF_THEM = rf"^\S+ \S+ - {OF_DASK}\S* - (?:WARNING|ERROR|CRITICAL) - "
# Python's own process for shared memory, which outlives a process that was killed.
_AT_EXIT = "resource_tracker: "
# The further lines of "Compute Failed".
_OF_A_FAILED_TASK = r"^(?:Key|State|Function|args|kwargs|Task|Exception|Traceback): "


def last_output(run: RunTables) -> str | None:
    """Return the last line of the driver that is not Dask's; None if there is none."""
    own = _own_lines(run)
    return own["message"].to_list()[-1] if len(own) else None


def last_error_before(run: RunTables, at: float, *, within: float) -> str | None:
    """Return the last line on the driver's stderr, which local workers' programs share.

    Args:
        at: Epoch seconds; later lines do not count.
        within: Seconds before it; earlier lines do not count.
    """
    moment, since = (datetime.fromtimestamp(each, UTC) for each in (at, at - within))
    own = _own_lines(run).filter(
        (pl.col("logger") == "stderr") & pl.col("at").is_between(since, moment)
    )
    return own["message"].to_list()[-1] if len(own) else None


def was_printed(run: RunTables, name: str, message: str) -> bool:
    """Say whether the driver printed or logged an exception, as Python ends a traceback.

    Args:
        name: The exception's class, without its module.
    """
    first = message.partition("\n")[0].strip()
    own = _own_lines(run)["message"].str.strip_chars()
    return own.str.ends_with(f"{name}: {first}").any()


def is_error_of_dask(line: str) -> bool:
    """Say whether a line of the driver's output is an error or warning that Dask logged."""
    return re.match(_ERRORS_OF_THEM, line) is not None


def _own_lines(run: RunTables) -> pl.DataFrame:
    return own_lines(run).filter(pl.col("role") == "driver")


def own_lines(run: RunTables) -> pl.DataFrame:
    """Return the lines of the job's own code, in whichever process."""
    return run.logs.filter(
        pl.col("role").is_in(["driver", "worker"])
        & ~pl.col("logger").fill_null("").str.contains(f"^{OF_DASK}")
        & ~pl.col("message").str.contains(
            f"{_PRINTED_BY_THEM}|{_OF_A_FAILED_TASK}|{_AT_EXIT}"
        )
        & (pl.col("message").str.strip_chars() != "")
    )


NOISE = (
    "CommClosedError",
    "StreamClosedError",
    "Connection closed",
    "Failed to communicate with scheduler",
    "Compute Failed",
    "Worker stream died",
)
"""What such lines hold; what they say is a consequence, not a cause."""
