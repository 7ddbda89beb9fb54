"""Segments to the store, in the background, patiently."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path

from dask_blackbox.errors import StoreError
from dask_blackbox.record.spool import Spool, checksum
from dask_blackbox.store.base import Store

__all__ = ["Uploader"]

logger = logging.getLogger("dask_blackbox.record")

_HEARTBEAT = 5.0
_LONGEST_PAUSE = 15.0


class Uploader(threading.Thread):
    """Uploads what the spool has closed, and a heartbeat.

    Args:
        store: Where to.
        folder: The recording's folder in the store, ending in `/`.
        spool: Where from.
    """

    def __init__(self, store: Store, folder: str, spool: Spool) -> None:
        super().__init__(name="dask-blackbox-upload", daemon=True)
        self._store, self._folder, self._spool = store, folder, spool
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._beaten = 0.0
        self._pause = 0.0
        self.uploaded: dict[str, str] = {}
        self.error: StoreError | None = None
        self.behind = 0.0
        self._failing_since: float | None = None

    def run(self) -> None:
        """Upload until stopped."""
        while not self._stopped.is_set():
            self._woken.wait(self._pause or 0.25)
            self._woken.clear()
            if not self._stopped.is_set():
                self.pass_once()

    def pass_once(self) -> bool:
        """Upload all that waits; return whether nothing is left behind."""
        try:
            for path in self._spool.closed_segments():
                if path.name not in self.uploaded:
                    self._upload(path)
            self._beat()
        except StoreError as error:
            self._failed(error)
            return False
        except OSError as error:
            logger.warning("cannot read the spool: %s", error)
            return False
        self.error, self._pause, self._failing_since = None, 0.0, None
        return True

    def _upload(self, path: Path) -> None:
        blob = path.read_bytes()
        self._store.put(f"{self._folder}segments/{path.name}", blob)
        self.uploaded[path.name] = checksum(blob)

    def _beat(self) -> None:
        now = time.time()
        if now - self._beaten >= _HEARTBEAT:
            beat = json.dumps({"at": now, "segments": len(self.uploaded)}).encode()
            self._store.put(
                f"{self._folder}heartbeat.json", beat, content_type="application/json"
            )
            self._beaten = now

    @property
    def failing_for(self) -> float:
        """Seconds since the store began to fail; 0 if it works."""
        since = self._failing_since
        return 0.0 if since is None else time.monotonic() - since

    def _failed(self, error: StoreError) -> None:
        now = time.monotonic()
        self._failing_since = self._failing_since or now
        self.behind = max(self.behind, now - self._failing_since)
        if self.error is None:
            logger.warning("the store fails, segments stay in the spool: %s", error)
        self.error = error
        self._pause = min(_LONGEST_PAUSE, max(0.5, self._pause * 2))

    def finish(self, patience: float) -> list[str]:
        """Stop; upload what is left for `patience` seconds; return what stays behind."""
        self._stopped.set()
        self._woken.set()
        self.join(timeout=patience)
        deadline = time.monotonic() + patience
        while not self.is_alive() and not self.pass_once():
            if time.monotonic() + self._pause > deadline or not _may_recover(
                self.error
            ):
                break
            time.sleep(self._pause)
        left = [p.name for p in self._spool.closed_segments()]
        return [name for name in left if name not in self.uploaded]


def _may_recover(error: StoreError | None) -> bool:
    return error is None or error.transient
