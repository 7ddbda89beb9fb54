"""Keeping a recorder alive: start it, start another one if it dies, hear what it says.

What nobody acknowledged is still on the scheduler for the second one; a recorder that
dies twice in a row is given up, and that is said.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from pathlib import Path
from typing import Any

from dask_blackbox.flight.relaying import Relay
from dask_blackbox.guard import guard
from dask_blackbox.record.link import Link, start_recorder
from dask_blackbox.record.orders import Attach, Config, End, Rows, Telling

__all__ = ["Keeper"]

logger = logging.getLogger("dask_blackbox")

_RESTARTS = 1
_TAKING_OVER = 2.0


class Keeper:
    """The recorder of one recording, whichever process it is at the moment.

    Args:
        config: What to record, and where to.

    Raises:
        RecorderError: if no process can be started.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._orders: list[Attach] = []
        self._losses = 0
        self._done = False
        self.reason: str | None = None
        """Why there is no recorder any more, for people."""
        self._link = start_recorder(config, self._lost)

    # What the driver says

    def row(self, kind: str, row: list[Any]) -> None:
        """Say that something happened; never blocks."""
        self._link.row(kind, row)

    def event(self, kind: str, detail: dict[str, Any]) -> None:
        """Say that something happened to the driver; never blocks."""
        from dask_blackbox.capture.driver import as_json

        text = as_json(detail)
        self.row("event", [time.time(), kind, "driver", text])

    def failed(self, doing: str, error: BaseException) -> None:
        """Say what of ours failed in the driver, so that the card can."""
        self.event("capture-failed", {"doing": doing, "error": repr(error)})

    def attach(
        self, order: Attach, client: str, cluster: dict[str, Any] | None = None
    ) -> None:
        """Have a scheduler pulled from, by this recorder and by one that takes over.

        Args:
            order: How to reach it.
            client: Id of the client.
            cluster: Of what kind the client's cluster is.
        """
        self._orders.append(order)
        self._link.order(order)
        self._attached(client, cluster)

    def relay(
        self, order: Attach, client: Any, cluster: dict[str, Any] | None = None
    ) -> Relay:
        """Have a scheduler pulled from through this process; return who does it.

        Args:
            order: How the recorder would have reached it.
            client: The client.
            cluster: Of what kind the client's cluster is.
        """
        relay = Relay(client, order, self._hand_on, self.failed)
        relay.start()
        self._attached(client.id, cluster)
        return relay

    def _hand_on(self, rows: Rows) -> None:
        self._link.order(rows)  # to whichever recorder it is by now

    def _attached(self, client: str, cluster: dict[str, Any] | None) -> None:
        self.event(
            "driver-attached",
            {"pid": os.getpid(), "client": client, "cluster": cluster},
        )

    # What the recorder says

    def of_the_store(self, patience: float) -> Telling | None:
        """Return what came of opening the store, or None if that is not known in time."""
        return self._link.wait_for("store", patience)

    @property
    def gone(self) -> bool:
        """Whether the recorder has ended."""
        return self._link.closed

    def conclude(self, end: End, patience: float) -> Telling | None:
        """Say how the run ended; return what tells of the card, or None without one.

        Args:
            end: How it ended.
            patience: Seconds to wait; what is known by then is returned.
        """
        deadline = time.monotonic() + patience
        while True:
            link = self._link
            link.order(end)
            told = link.wait_for("final", deadline - time.monotonic())
            told = told or link.told("card")
            if told is None and self._another_took_over(link):
                continue
            self._done = True
            link.close()
            if told is None:
                self.reason = self.reason or self._silence(link)
            return told

    def give_up(self) -> None:
        """Have nothing recorded after all, and nothing kept."""
        self._done = True
        process = self._link.process
        if process is not None:
            process.kill()
        self._link.close()
        shutil.rmtree(self._config.spool, ignore_errors=True)
        Path(self._config.socket).unlink(missing_ok=True)

    # When it dies

    def _lost(self) -> None:
        if self._done or os.getpid() != self._config.owner:
            return
        with guard("a second recorder"):
            self._losses += 1
            if self._losses > _RESTARTS:
                self.reason = (
                    "the recorder died twice; what it had is in the spool, "
                    f"{self._config.spool}"
                )
                Path(self._config.socket).unlink(missing_ok=True)
                logger.error("this run is not recorded any more: %s", self.reason)
                return
            logger.warning("the recorder died; another one takes over")
            self._link = start_recorder(self._config, self._lost)
            for order in self._orders:
                self._link.order(order)
            self.event("recorder-restarted", {"times": self._losses})

    def _another_took_over(self, link: Link) -> bool:
        deadline = time.monotonic() + _TAKING_OVER
        while link.closed and self._link is link and time.monotonic() < deadline:
            if self.reason is not None:
                return False
            time.sleep(0.01)  # the listening thread is starting it
        return self._link is not link

    def _silence(self, link: Link) -> str:
        spool = self._config.spool
        if link.closed:
            return f"the recorder ended early; its log is in {spool}"
        return f"the recorder has not answered in time; it goes on alone, in {spool}"
