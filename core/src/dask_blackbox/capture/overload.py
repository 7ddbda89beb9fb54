"""How much longer others may take on a host that is overloaded."""

from __future__ import annotations

import os

_LONGER = 2.0  # times at most


def extended(seconds: float) -> float:
    """Return a limit of time, up to twice as long while this host is overloaded."""
    try:
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # another system
        load = 1.0
    return seconds * min(max(load, 1.0), _LONGER)
