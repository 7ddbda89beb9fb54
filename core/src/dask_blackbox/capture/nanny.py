"""The nanny's part: see a worker's process end, and certify how.

Dask has no hook for that, so two attributes of the nanny are wrapped; they have been
there, under these names, through all versions that we support.  Where they are missing
the worker's death is recorded without certificate, and that is said.
"""

from __future__ import annotations

import time
from typing import Any

from distributed.diagnostics.plugin import NannyPlugin

from .certificate import (
    certificates_of_the_dead,
    certify,
    forget_ring,
    keep_certificate,
    leave_rings,
    oom_kills,
    ring_folder,
)
from .logs import LogTap

__all__ = ["NannyCapture"]


class NannyCapture(NannyPlugin):
    """Listens inside a nanny; ships to the topic of one recording."""

    restart = False

    def __init__(self, name: str, recording: str) -> None:
        self.name = name
        self._recording = recording

    def setup(self, nanny: Any) -> None:
        self._nanny = nanny
        self._folder = ring_folder(self._recording)
        self._reasons: list[str] = []
        self._oom_kills = oom_kills() or 0
        self._tap = LogTap(
            self._recording, "nanny", lambda role: str(nanny.address), self._take_line
        )
        self._tap.attach("distributed", "tornado.application")
        self._wrap_exit(nanny)
        self._wrap_kill(getattr(nanny, "process", None))
        self._wrap_instantiate(nanny)

    def teardown(self, nanny: Any) -> None:
        self._tap.detach()
        leave_rings(self._recording)
        for name in ("_on_worker_exit_sync", "instantiate"):
            nanny.__dict__.pop(name, None)
        process = getattr(nanny, "process", None)
        if process is not None:
            process.on_exit = nanny._on_worker_exit_sync
            process.__dict__.pop("kill", None)

    def _wrap_exit(self, nanny: Any) -> None:
        inner = nanny._on_worker_exit_sync

        def on_exit(exitcode: int) -> Any:
            try:
                self._certify(exitcode)
            except Exception as error:
                self._send({"failed": f"certificate: {error!r}"})
            return inner(exitcode)

        nanny._on_worker_exit_sync = on_exit
        if getattr(nanny, "process", None) is not None:
            nanny.process.on_exit = on_exit

    def _wrap_instantiate(self, nanny: Any) -> None:
        inner = nanny.instantiate

        async def instantiate(*args: Any, **kwargs: Any) -> Any:
            result = await inner(*args, **kwargs)
            self._wrap_kill(getattr(nanny, "process", None))
            return result

        nanny.instantiate = instantiate

    def _wrap_kill(self, process: Any) -> None:
        """Note that the nanny itself ends its worker: then its exit is nobody's death."""
        if process is None or "kill" in process.__dict__:
            return
        inner = process.kill

        async def kill(*args: Any, **kwargs: Any) -> Any:
            self._reasons.append(str(kwargs.get("reason", "asked")))
            return await inner(*args, **kwargs)

        process.kill = kill

    def _certify(self, exitcode: int) -> None:
        reasons, self._reasons = self._reasons, []
        kills = oom_kills() or 0
        new_kills, self._oom_kills = kills - self._oom_kills, kills
        address = str(self._nanny.address)
        facts: dict[str, Any] = {
            "asked_to_close": bool(reasons),
            "close_reason": reasons[0] if reasons else None,
            "oom_kills": new_kills,
            "nanny": address,
            "at": time.time(),
        }
        rings = certificates_of_the_dead(self._folder, address)
        if not rings:
            facts |= {"exit_code": exitcode, "pid": None, "worker": None}
            self._send({"certificate": facts})
        for ring in rings:
            certificate = certify(ring, exitcode, **facts)
            if self._nanny.status.name == "running":
                self._send({"certificate": certificate})
                forget_ring(ring)
            else:  # nobody may listen to it any more: the recorder looks on its own host
                keep_certificate(ring, certificate)
                self._send({"certificate": certificate})

    def _take_line(self, row: list[Any]) -> None:
        self._send({"rows": {"log": [row]}, "dropped": 0})

    def _send(self, message: dict[str, Any]) -> None:
        # From whichever thread: the nanny's loop is the only one that may talk.
        loop = self._nanny.loop
        try:
            loop.add_callback(self._say, message)
        except Exception:  # the loop is closed; the ring's file stays for the recorder
            pass

    def _say(self, message: dict[str, Any]) -> None:
        try:
            self._nanny.log_event(self.name, message)
        except Exception:
            pass
