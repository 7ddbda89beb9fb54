"""A scheduler that is looked at from outside, without being its client."""

from __future__ import annotations

import asyncio
import time

from distributed.comm import Comm, connect
from distributed.core import send_recv
from distributed.security import Security

from dask_blackbox.errors import ConfigurationError

_CONNECTING, _ANSWERING = 10.0, 20.0
_GIVE_UP_AFTER = 10.0


class WatchedScheduler:
    """Says whether a scheduler is there."""

    def __init__(self, address: str, security: Security) -> None:
        self.address, self.security = address, security
        self._missed_since: float | None = None
        self._comm: Comm | None = None
        # A loop that runs while we ask, on which the connection lives.
        self._runner = asyncio.Runner()

    def find(self) -> None:
        """Make sure that a Dask scheduler answers there.

        Raises:
            ConfigurationError: if none does.
        """
        try:
            answer = self._runner.run(self._ask("identity"))
        except Exception as error:
            raise ConfigurationError(
                f"no Dask scheduler answers at {self.address} "
                f"({str(error) or type(error).__name__}); "
                "give its address as tcp://host:8786, or tls://… with the --tls options"
            ) from error
        kind = answer.get("type") if isinstance(answer, dict) else "something else"
        if kind != "Scheduler":
            raise ConfigurationError(
                f"{self.address} is a {kind}, not a Dask scheduler; give the "
                "scheduler's address"
            )

    def responds(self) -> bool:
        """Return whether it answers, or has not been missed for long."""
        try:
            self._runner.run(self._ask("echo"))
        except Exception:  # noqa: BLE001 - it does not answer, however it does that
            self._missed_since = self._missed_since or time.monotonic()
            return time.monotonic() - self._missed_since < _GIVE_UP_AFTER
        self._missed_since = None
        return True

    def close(self) -> None:
        """Hang up."""
        if self._comm is not None:
            self._comm.abort()
        self._runner.close()

    async def _ask(self, op: str) -> object:
        try:
            async with asyncio.timeout(_ANSWERING):
                if self._comm is None:
                    args = self.security.get_connection_args("client")
                    self._comm = await connect(
                        self.address, timeout=_CONNECTING, **args
                    )
                return await send_recv(self._comm, op=op)
        except BaseException:
            comm, self._comm = self._comm, None
            if comm is not None:
                comm.abort()
            raise
