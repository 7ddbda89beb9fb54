"""Words for what a job printed or logged of errors that it handled."""

from __future__ import annotations

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import without_log_prefix
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.formatting import short, short_with_paths

DRIVER = "The driver"


def task_or_worker(case: Case, key: str | None) -> str:
    """Return who printed or logged something, as the beginning of a sentence."""
    return "A worker" if key is None else f"'{short(case.prefix_of(key), 40)}'"


def of_printed_line(who: str, message: str) -> Words:
    line = short_with_paths(without_log_prefix(message), 80)
    return Words(
        text=f"{had_printed(who)}: {short(message, 160)}",
        headline=f"{who} printed “{line}”",
    )


def of_logged_line(who: str, message: str) -> Words:
    return Words(
        text=f"{had_logged(who)}: {short(message, 160)}",
        headline=f"{who} logged “{short_with_paths(message, 80)}”",
    )


def had_printed(who: str) -> str:
    """Return the beginning of a sentence on what somebody printed."""
    return f"{who} had printed"


def had_logged(who: str) -> str:
    """Return the beginning of a sentence on what somebody logged."""
    return f"{who} had logged"
