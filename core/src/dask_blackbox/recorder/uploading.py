"""Uploads segments to the store in the background; failed uploads are retried.

Whatever is wrong with the store, it is tried again with growing pauses, until the
recording ends: credentials are renewed, buckets made, clocks set, while a run flies.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable

import msgspec

from dask_blackbox.errors import BlackboxError, StoreError, StoreUnreachableError
from dask_blackbox.manifest import Heartbeat, Progress, lasted
from dask_blackbox.recorder.opening import Opening
from dask_blackbox.recorder.spool import Spool, checksum
from dask_blackbox.store.base import Store

logger = logging.getLogger("dask_blackbox.recorder")

_HEARTBEAT = 5.0
_LONGEST_PAUSE = 15.0
_SLOW, _SLOWEST = 10.0, 2**18  # seconds for an answer, and bytes per second beside
_FAILING = 2.0
_RECOVERING = 8.0  # seconds at the end for a store that fails; a slow one has longer


class Uploader(threading.Thread):
    """Uploads what the spool has closed, and a heartbeat.

    Args:
        opening: The store as it was found; opened again if that failed.
        progress: Returns how far the run has come.
    """

    def __init__(
        self,
        opening: Opening,
        reopen: Callable[[], Opening],
        spool: Spool,
        progress: Callable[[], Progress] | None = None,
    ) -> None:
        super().__init__(name="dask-blackbox-upload", daemon=True)
        self.opening, self._reopen, self._spool = opening, reopen, spool
        self._progress = progress
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._given_up = False
        self._beaten = 0.0
        self._pause = 0.0
        self.uploaded: dict[str, str] = {}
        self.error: BlackboxError | None = opening.error
        self.behind = 0.0
        self._failing_since = None if opening.error is None else time.monotonic()
        self._asking_since: float | None = None
        self._allowed = _SLOW

    def run(self) -> None:
        """Upload until stopped; then what is left, as long as that may help."""
        while not self._stopped.is_set():
            self._woken.wait(self._pause or 0.25)
            self._woken.clear()
            if not self._stopped.is_set():
                self.pass_once()
        until = time.monotonic() + _RECOVERING
        while not self.pass_once() and not self._given_up:
            transient = self.error is None or (
                isinstance(self.error, StoreError) and self.error.transient
            )
            if not transient or time.monotonic() + self._pause > until:
                return
            time.sleep(self._pause)

    def pass_once(self) -> bool:
        """Upload all that waits; return whether nothing remains."""
        try:
            if self.opening.error is not None:
                self._open_again()
            for name in self._spool.waiting():
                if self._given_up:
                    return False
                self._upload(name)
            self._beat()
        except BlackboxError as error:
            self._failed(error)
            return False
        except Exception as error:  # noqa: BLE001 - this thread is all there is
            self._failed(StoreError(f"uploading failed: {error!r}"))
            return False
        finally:
            self._asking_since = None
        if self.error is not None:
            logger.info("the store accepts uploads again")
        self.error, self._pause, self._failing_since = None, 0.0, None
        return True

    def _open_again(self) -> None:
        # From the beginning: only now can be seen which attempt is still free there.
        self._asking_since, self._allowed = time.monotonic(), _SLOW
        opening = self._reopen()
        if opening.error is not None:
            raise opening.error
        self.opening = opening

    def _put(self, name: str, blob: bytes, content_type: str) -> None:
        assert self.opening.store is not None  # noqa: S101 - there is no error
        self._asking_since = time.monotonic()
        self._allowed = _SLOW + len(blob) / _SLOWEST
        folder = self.opening.address.folder
        self.opening.store.put(f"{folder}{name}", blob, content_type=content_type)

    def _upload(self, name: str) -> None:
        try:
            blob = self._spool.read(name)
        except OSError as error:
            gone = isinstance(error, FileNotFoundError | NotADirectoryError)
            if not gone and not self._stopped.is_set():
                raise  # the disk may recover; at the end, the others must not wait for this one
            self._spool.lost(name)
            return
        self._put(f"segments/{name}", blob, "application/octet-stream")
        self.behind = max(self.behind, self._spool.age(name))
        self.uploaded[name] = checksum(blob)
        self._spool.uploaded(name)

    def _beat(self) -> None:
        now, seconds = time.time(), time.monotonic()
        if seconds - self._beaten >= _HEARTBEAT and not self._given_up:
            progress = None if self._progress is None else self._progress()
            beat = self._heartbeat(now, progress)
            self._put("heartbeat.json", beat, "application/json")
            self._beaten = seconds

    def _heartbeat(self, now: float, progress: Progress | None) -> bytes:
        """Return a heartbeat that is no older than the one before, if the clock is set back."""
        manifest = self.opening.manifest
        since = lasted(manifest)
        at = now if since is None else max(now, manifest.started + since)
        return heartbeat(at, len(self.uploaded), progress, lasted=since)

    @property
    def down(self) -> bool:
        """Whether the store has never worked, fails for some seconds, or does not answer."""
        failing = self._failing_since
        if self.opening.error is not None or self._does_not_answer():
            return True
        return failing is not None and time.monotonic() - failing > _FAILING

    def _does_not_answer(self) -> bool:
        asking = self._asking_since
        return asking is not None and time.monotonic() - asking > self._allowed

    def _failed(self, error: BlackboxError) -> None:
        now = time.monotonic()
        self._failing_since = self._failing_since or now
        ages = [self._spool.age(name) for name in self._spool.waiting()[:1]]
        self.behind = max(self.behind, *ages, 0.0)
        if str(error) != str(self.error):
            logger.warning("the store fails, segments remain in the spool: %s", error)
        self.error = error
        # Not all recorders of a cluster at the same moment.
        spread = random.uniform(0.8, 1.2)  # noqa: S311 - no secret
        self._pause = min(_LONGEST_PAUSE, max(0.5, self._pause * 2)) * spread

    def finish(self, timeout: float) -> None:
        """Stop; upload what is left, for `timeout` seconds, while the store answers."""
        self._stopped.set()
        self._woken.set()
        begun = time.monotonic()
        while self.is_alive() and time.monotonic() - begun < timeout:
            if self._does_not_answer():
                break
            self.join(0.1)
        self._given_up = True
        if self.is_alive() and self.error is None:
            took = time.monotonic() - begun
            self.error = StoreUnreachableError(
                f"the store has not received all data within {took:.0f} s"
            )


class RetryingPut:
    """Puts blobs, each again while that may help.

    Args:
        timeout: Seconds from the first failure on, for all of them together.
    """

    def __init__(self, store: Store, timeout: float) -> None:
        self._store, self._tolerance = store, timeout
        self._until: float | None = None

    def __call__(self, name: str, blob: bytes, content_type: str | None = None) -> None:
        """Upload a blob.

        Raises:
            StoreError: if the store does not accept it.
        """
        more = {} if content_type is None else {"content_type": content_type}
        pause = 0.5
        while True:
            try:
                self._store.put(name, blob, **more)
            except StoreError as error:
                now = time.monotonic()
                self._until = self._until or now + self._tolerance
                if not error.transient or now + pause > self._until:
                    raise
                logger.info("retrying in %.1f s: %s", pause, error)
                time.sleep(pause)
                pause *= 2
                continue
            return


def heartbeat(
    at: float,
    segments: int,
    progress: Progress | None = None,
    *,
    lasted: float | None = None,
) -> bytes:
    """Return `heartbeat.json`: when the recorder lived, how many segments it had, and how far it was."""
    beat = Heartbeat(at=at, segments=segments, progress=progress, lasted=lasted)
    return msgspec.json.encode(beat)
