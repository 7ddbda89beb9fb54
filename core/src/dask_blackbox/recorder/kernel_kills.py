"""Whether the kernel's out-of-memory killer was at work where the driver ran.

A recorder lives in the container of its driver, and outlives it by a moment.
"""

from __future__ import annotations

import json
import time

from dask_blackbox.capture.nanny.worker_exit import oom_kills
from dask_blackbox.events import EventRow
from dask_blackbox.protocol.messages import End

_SHELLS = 128


class KernelKills:
    """Counts since it was made; nothing where the system does not count."""

    def __init__(self) -> None:
        self._before = oom_kills()

    def reported(self) -> dict[str, object]:
        """Return how often the kernel has killed for memory since, if it says."""
        after = oom_kills()
        if self._before is None or after is None:
            return {}
        return {"oom_kills": after - self._before}

    def rows(self, end: End) -> dict[str, list[EventRow]]:
        """Return the rows on a command that a signal has ended; none of others."""
        code = end.exit_code or 0
        if 0 <= code <= _SHELLS:
            return {}
        signal = -code if code < 0 else code - _SHELLS
        detail = {"state": end.state, "exit_code": code, "signal": signal}
        reported = json.dumps(detail | self.reported())
        return {"event": [(time.time(), "driver-ended", "driver", reported)]}
