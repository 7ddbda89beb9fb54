"""Checks whether the nanny of a lost worker still answers; if not, the host was lost.

If a nanny is alive but sent no exit report (our plugin could not be installed there), its
own log may still contain the exit code.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Callable, Iterator

from distributed.comm import parse_host_port
from distributed.scheduler import heartbeat_interval

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed import Scheduler

_REPORT_SECONDS = (
    1.0  # for an exit report: the exit code is known after the connection breaks
)
_MORE = 5  # times half of that, where the nanny lives: the process ends slowly
_ANSWERING, _CONNECTING = 2.0, 1.5
_MOST = 50  # checks at a time: a thousand workers may be lost together
_ENDED = re.compile(
    r"Worker process (?P<pid>\d+) (?:was killed by signal (?P<signal>\d+)"
    r"|exited with status (?P<status>\d+))"
)

_SILENT = 5.0


def silent_workers(
    scheduler: Scheduler, now: float
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the workers that have sent nothing for a while, though they should have."""
    workers = scheduler.workers
    longest = max(_SILENT, 3 * heartbeat_interval(len(workers)))
    for address, ws in workers.items():
        if now - ws.last_seen > longest:
            yield address, {"pid": ws.pid, "silent_for": round(now - ws.last_seen, 3)}


class NannyCheck:
    """Checks the nannies of workers that left unexpectedly.

    Args:
        report: Takes kind, subject and particulars of an event.
    """

    def __init__(self, scheduler: Scheduler, report: Callable[..., None]) -> None:
        self._scheduler, self._report = scheduler, report
        self._nannies: dict[str, tuple[str, int]] = {}
        self._reported: set[int] = set()
        self._checks: set[Any] = set()

    def worker_added(self, address: str, nanny: str | None, pid: int) -> None:
        """Remember the nanny of a worker; at its removal Dask no longer knows it."""
        if nanny:
            self._nannies[address] = (str(nanny), pid)

    def exit_reported(self, report: dict[str, Any]) -> None:
        """Note that the exit of a worker was reported."""
        pid = report.get("pid")
        if pid is not None and report.get("by") != "itself":
            self._reported.add(pid)

    def worker_removed(self, address: str, *, expected: bool) -> None:
        """Check its nanny a moment later, unless the removal was expected."""
        known = self._nannies.pop(address, None)
        if known is None or expected or len(self._checks) >= _MOST:
            return
        check = asyncio.ensure_future(self._check(address, *known))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)

    def stop(self) -> None:
        """Cancel all checks."""
        for check in tuple(self._checks):
            check.cancel()

    async def _check(self, address: str, nanny: str, pid: int) -> None:
        await asyncio.sleep(_REPORT_SECONDS)
        if pid in self._reported:
            self._reported.discard(pid)
            return
        try:
            await _check_port(nanny)
            ask = self._scheduler.rpc(nanny).get_logs(n=200)
            log = await asyncio.wait_for(ask, _ANSWERING)
        except Exception as error:
            self._report("nanny-lost", address, nanny=nanny, pid=pid, error=repr(error))
            return
        # The nanny's own exit report has more facts but may be late: the process exits slowly,
        # or has many log lines.
        for _ in range(_MORE):
            if pid in self._reported:
                return
            await asyncio.sleep(_REPORT_SECONDS / 2)
        if pid in self._reported:
            return
        for line in log:
            found = _ENDED.search(str(line))
            if found and int(found["pid"]) == pid:
                code = (
                    -int(found["signal"]) if found["signal"] else int(found["status"])
                )
                self._report(
                    "worker-exit-report", address, pid=pid, worker=address,
                    exit_code=code, nanny=nanny, by="the nanny's log",
                )  # fmt: skip
                return
        self._report("nanny-responded", address, nanny=nanny, pid=pid)


async def _check_port(address: str) -> None:
    """Fail at once if nothing listens; Dask would retry for too long."""
    scheme, _, place = address.partition("://")
    if scheme == "tcp":  # with TLS, the other side would warn of a broken handshake
        host, port = parse_host_port(place)
        _, writer = await asyncio.wait_for(
            asyncio.open_connection(host, port), _CONNECTING
        )
        writer.close()
