"""The last line that the user's own code printed or logged in the driver."""

from __future__ import annotations

import polars as pl

from dask_blackbox.run import RunTables

__all__ = ["last_output"]

# Loggers of Dask and of what it brings. Their lines reach stderr in the format of
# `distributed.admin.log-format`, or as its loggers' own rows.
_LOGGERS = r"(?:distributed|dask|tornado|bokeh|asyncio|py\.warnings)\b"
_PRINTED_BY_THEM = rf"^\S+ \S+ - {_LOGGERS}\S* - [A-Z]+ - "
# The further lines of "Compute Failed".
_OF_A_FAILED_TASK = r"^(?:Key|State|Function|args|kwargs|Task|Exception|Traceback): "


def last_output(run: RunTables) -> str | None:
    """Return the last line of the driver that is not Dask's; None if there is none."""
    own = run.logs.filter(
        (pl.col("role") == "driver")
        & ~pl.col("logger").fill_null("").str.contains(f"^{_LOGGERS}")
        & ~pl.col("message").str.contains(f"{_PRINTED_BY_THEM}|{_OF_A_FAILED_TASK}")
        & (pl.col("message").str.strip_chars() != "")
    )
    return own["message"].to_list()[-1] if len(own) else None
