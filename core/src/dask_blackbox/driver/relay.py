"""Pulling through the driver, where the recorder does not reach the scheduler itself.

A connection of a kind that only the driver's process knows (a gateway's, for one) cannot
be made by another process; so the driver pulls and forwards the rows.  It dies with
the driver: what was handed on by then is recorded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from dask_blackbox.guard import guard
from dask_blackbox.protocol.messages import Attach, Rows
from dask_blackbox.settings import setting_seconds

if TYPE_CHECKING:
    from distributed import Client

_KNOWN = ("tcp", "tls", "ws", "wss", "inproc")  # to every process that has distributed
_BATCH = 2_000
_ANSWERING = 20.0
_SHIPPING = 0.05
_FINAL_EVENTS = 3.0


def must_relay(order: Attach) -> bool:
    """Return whether only the driver's process can reach this scheduler."""
    scheme, separator, _ = order.seen_as.partition("://")
    return bool(separator) and scheme not in _KNOWN


class Relay(threading.Thread):
    """Pulls from one scheduler through a client, until it is asked to finish.

    Args:
        order: What the recorder would have received.
        say: Hands rows to the recorder.
        failed: Takes what failed, and how.
        mask: Takes secret values that became known on the cluster.
    """

    def __init__(
        self,
        client: Client,
        order: Attach,
        say: Callable[[Rows], None],
        failed: Callable[[str, BaseException], None],
        mask: Callable[[tuple[str, ...]], None],
    ) -> None:
        super().__init__(name="dask-blackbox-relay", daemon=True)
        self._client, self._order = client, order
        self._send, self._failed, self._mask = say, failed, mask
        self._interval = setting_seconds("capture.interval")
        self._acknowledged = 0
        self._masked = 0
        self._finishing = threading.Event()

    def run(self) -> None:
        """Pull now and then; at the end, all that is left."""
        with guard("rows that only the driver can fetch", on_error=self._failed):
            while not self._finishing.wait(self._interval):
                self._pull_all()
            self._pull_all(last=True)
            self._ask("withdraw")
            time.sleep(_SHIPPING)  # what workers have just shipped comes another way
            self._pull_all()
            self._ask("leave")

    def finish(self) -> None:
        """Pull the remaining rows and remove everything of ours from the cluster."""
        self._finishing.set()
        self.join(_ANSWERING + _FINAL_EVENTS)

    def _pull_all(self, *, last: bool = False) -> None:
        while True:
            answer = self._ask(
                "pull", acknowledged=self._acknowledged, limit=_BATCH, last=last
            )
            last = False
            if len(masked := answer.get("masked", ())) > self._masked:
                self._mask(tuple(masked))
                self._masked = len(masked)
            if answer["rows"] is None or answer["seq"] <= self._acknowledged:
                return
            self._send(
                Rows(
                    source=f"scheduler {self._order.address}",
                    seq=answer["seq"],
                    at=answer["at"],
                    rows=msgspec.msgpack.decode(answer["rows"]),
                    dropped=answer["dropped"],
                )
            )
            self._acknowledged = answer["seq"]

    def _ask(self, what: str, **more: object) -> Any:
        call = getattr(self._client.scheduler, f"{self._order.tap}-{what}")
        return self._client.sync(
            call, **more, asynchronous=False, callback_timeout=_ANSWERING
        )
