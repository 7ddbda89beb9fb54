"""Moments as people type them: an age, a day, a time."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from dask_blackbox.errors import ConfigurationError

_WEEKS = re.compile(r"(\d+(?:\.\d+)?)\s*w(?:eeks?)?", re.IGNORECASE)
_WEEK = 7 * 24 * 3600.0


def age_of(typed: str, option: str) -> float:
    """Return a duration in seconds.

    Args:
        typed: `24h`, `7 days`, `2 weeks`.
        option: Whose value it is, for the message.

    Raises:
        ConfigurationError: if it is none.
    """
    from dask.utils import parse_timedelta

    weeks = _WEEKS.fullmatch(typed.strip())
    try:
        found = float(weeks[1]) * _WEEK if weeks else float(parse_timedelta(typed))
    except (KeyError, ValueError, TypeError):
        raise _wrong(typed, option) from None
    if found < 0:
        raise _wrong(typed, option)
    return found


def moment_of(typed: str, option: str) -> float:
    """Return epoch seconds of a day or time (UTC, unless it names a zone), or of an age.

    Raises:
        ConfigurationError: if it is neither.
    """
    try:
        at = datetime.fromisoformat(typed.strip())
    except ValueError:
        return time.time() - age_of(typed, option)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _wrong(typed: str, option: str) -> ConfigurationError:
    return ConfigurationError(
        f"{option} is {typed!r}; give an age like '24h', '7 days' or '2 weeks', "
        "or a day like 2026-11-21"
    )
