"""Pauses of processes of this host: of the driver, of workers, and of the recorder itself.

A process that is stopped (SIGSTOP, a debugger, a frozen container) works later as if nothing
had been; only its tasks took longer.  The recorder looks at the states of the processes in
the kernel, and at the time in which it did not run itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping

from dask_blackbox.capture.nanny.worker_exit import rings_of
from dask_blackbox.capture.process import stat_fields
from dask_blackbox.events import EventRow

_LEAST = 1.0
"""Seconds of a pause that is reported."""
_OWN_LEAST = 3.0
"""Seconds in which this process did not run; on a busy machine it waits for its turn."""
_SHARE_OF_CPU = 0.25
_LOOKS_PER_LIST = 10
_STOPPED = ("T", "t")


class PauseWatch:
    """Looks at processes, often; yields a row for each pause that has ended.

    Args:
        rings: The folder of the rings of this host's workers.
    """

    def __init__(self, rings: str | None) -> None:
        self._rings = rings
        self._workers: dict[int, str] = {}
        self._stopped: dict[int, tuple[str, float]] = {}
        self._looks = 0
        self._before = (time.monotonic(), time.process_time())

    def look(self, drivers: Mapping[int, str]) -> Iterator[EventRow]:
        """Look once, several times a second.

        Args:
            drivers: The driver's processes beside the workers: subjects by process id.
        """
        yield from self._own_pause()
        if self._rings is not None and self._looks % _LOOKS_PER_LIST == 0:
            self._workers = {
                pid: str(identity.get("worker"))
                for _, identity in rings_of(self._rings)
                if isinstance(pid := identity.get("pid"), int)
            }
        self._looks += 1
        now = time.time()
        for pid, subject in {**self._workers, **drivers}.items():
            fields = stat_fields(pid)
            if fields and fields[0] in _STOPPED:
                self._stopped.setdefault(pid, (subject, now))
            elif pid in self._stopped:
                _, since = self._stopped.pop(pid)
                if now - since >= _LEAST:
                    yield _row(now, subject, pid, now - since)

    def still_stopped(self) -> Iterator[EventRow]:
        """Yield a row for each process that is stopped at the end."""
        now = time.time()
        for pid, (subject, since) in self._stopped.items():
            if now - since >= _LEAST:
                yield _row(now, subject, pid, now - since)

    def _own_pause(self) -> Iterator[EventRow]:
        now, cpu = time.monotonic(), time.process_time()
        (before, cpu_before), self._before = self._before, (now, cpu)
        seconds = now - before
        if seconds >= _OWN_LEAST and cpu - cpu_before < _SHARE_OF_CPU * seconds:
            yield _row(time.time(), "recorder", None, seconds)


def _row(at: float, subject: str, pid: int | None, seconds: float) -> EventRow:
    detail = {"pid": pid, "seconds": round(seconds, 3)}
    return (at, "process-paused", subject, json.dumps(detail))
