"""How durations are said: one way for findings, cards and pages."""

from __future__ import annotations

__all__ = ["BIDIRECTIONAL", "duration"]

BIDIRECTIONAL = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters (of a regular expression's class) that turn the direction of what follows."""

_MINUTE = 60.0
_HOUR = 3600.0
_DAY = 86400.0


def duration(seconds: float) -> str:
    """Return a duration as people say it: `412 ms`, `3.2 s`, `3 m 12 s`, `1 h 04 m`."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if round(seconds) < _MINUTE:
        return _brief(seconds)
    if round(seconds) < _HOUR:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} m {rest:02d} s"
    if seconds < _DAY:
        hours, rest = divmod(round(seconds / 60), 60)
        return f"{hours} h {rest:02d} m"
    days, rest = divmod(round(seconds / _HOUR), 24)
    return f"{days} d {rest:02d} h"


def _brief(seconds: float) -> str:
    if seconds < 0.001:  # noqa: PLR2004
        return "0 s" if seconds == 0 else f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:  # noqa: PLR2004
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"  # noqa: PLR2004
