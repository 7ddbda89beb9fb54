"""Fetches bundles: failed tasks with their inputs, from the workers that keep them.

They don't pass through the scheduler, whose event loop they would hold up: a worker is
asked itself, piece by piece.  Only where it cannot be reached from here, its scheduler
relays the pieces.  What they hold stays opaque.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from dask_blackbox.capture.worker.bundle_file import read_bundle
from dask_blackbox.capture.worker.task_bundles import place_for
from dask_blackbox.errors import BlackboxError
from dask_blackbox.events import BundleAnnounced, Rows, event_rows, of_kind
from dask_blackbox.private_files import make_private_folder
from dask_blackbox.recorder.opening import Opening
from dask_blackbox.recorder.spool import Take

if TYPE_CHECKING:
    # Importing distributed takes a second, which the recorder spends later.
    from dask_blackbox.recorder.pulling import Puller

logger = logging.getLogger("dask_blackbox.recorder")

_AT_ONCE = 2
_NUMBERS_OF_ONE = 10_000
_CONNECTING, _ANSWERING = 3.0, 75.0  # a worker answers in a minute, made or not
_CLOSE_TIMEOUT = 3.0  # seconds that a worker that leaves may still take for it
_PIECE = 4 * 2**20  # from a worker itself; less where the scheduler relays
_DESCRIPTION = 4 * 2**20
_OURS = ("dask-blackbox-", "-bundle")  # how the handlers of our plugins are called

_DIED = "its worker exited before it sent the inputs"

_UNREACHABLE = "only the driver can connect to its cluster, and does not relay inputs"


class _LostError(Exception):
    """A failed-task bundle that will not come, with why."""


@dataclass
class _Entry:
    number: int
    prefix: str
    key: str
    instead_of: _Entry | None = None
    uploaded: bool = False


class _Answer(TypedDict, total=False):
    """A part of a failed-task bundle, as its worker sends it."""

    size: int
    piece: bytes
    failed: str


Ask = Callable[..., Awaitable[_Answer]]


class _Holder(NamedTuple):
    """Who holds a bundle: a worker of a scheduler, under a number, behind a handler."""

    puller: Puller
    worker: str
    number: int
    op: str


class TaskBundles:
    """The bundles of one recording.

    Args:
        folder: Where they wait for the store.
        most: How many there may be; 0: none at all.
        limit: Bytes that each may have.
        take: Takes rows, to be recorded.
        opening: Returns the store, once it is open.
    """

    def __init__(
        self,
        folder: Path,
        *,
        most: int,
        limit: int,
        take: Take,
        opening: Callable[[], Opening | None],
    ) -> None:
        self._folder, self._most, self._limit = folder, most, limit
        self._take, self._opening = take, opening
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._seen: set[tuple[str, int]] = set()
        self._entries: list[_Entry] = []
        # A recorder that takes over does not know how far the one before it came.
        segments = folder.parent.glob("segments/*.seg")
        writers = {path.name.partition("-")[0] for path in segments}
        self._numbers = len(writers) * _NUMBERS_OF_ONE
        self._work: dict[asyncio.Task[None], tuple[_Entry, str]] = {}

    def look_at(self, puller: Puller | None, rows: Rows) -> None:
        """Fetch what these rows announce."""
        for at, kind, subject, detail in event_rows(rows):
            if kind == "bundle-announced" and puller is not None:
                self._on_announced(
                    puller, of_kind(BundleAnnounced, at, subject, detail)
                )
            elif kind == "worker-removed" and self._work:
                loop = asyncio.get_running_loop()
                loop.call_later(_CLOSE_TIMEOUT, self._give_up, self._of(subject), _DIED)

    def note_unreachable(self, rows: Rows) -> None:
        """Record what these rows announce as lost: this process cannot connect to its cluster."""
        for at, kind, subject, detail in event_rows(rows):
            if kind == BundleAnnounced.kind:
                coming = of_kind(BundleAnnounced, at, subject, detail)
                entry = _Entry(0, coming.prefix or "", subject)
                self._lost(entry, coming.worker or "", _UNREACHABLE)

    def _on_announced(self, puller: Puller, coming: BundleAnnounced) -> None:
        key, worker, op = coming.subject, coming.worker, coming.op
        number, prefix = coming.number, coming.prefix
        if worker is None or number is None or prefix is None or op is None:
            return
        if not (op.startswith(_OURS[0]) and op.endswith(_OURS[1])):
            return
        if (worker, number) in self._seen:  # reported again by the ring of the dead
            return
        self._seen.add((worker, number))
        known = [(each.prefix, each.key) for each in self._entries]
        place = place_for(known, prefix, key, self._most)
        self._numbers += 1
        entry = _Entry(self._numbers, prefix, key)
        if place is not None:
            if place < len(self._entries):
                entry.instead_of = self._entries.pop(place)
            self._entries.append(entry)
        work = self._fetch if place is not None else self._decline
        task = asyncio.create_task(work(entry, _Holder(puller, worker, number, op)))
        self._work[task] = (entry, worker)
        task.add_done_callback(lambda done: self._work.pop(done, None))

    async def settle(self, seconds: float) -> None:
        """Wait for those that are on their way; those that are late are lost."""
        if self._work:
            await asyncio.wait(list(self._work), timeout=seconds)
        self._give_up(list(self._work), "its worker did not send the inputs in time")

    def _of(self, worker: str) -> list[asyncio.Task[None]]:
        return [task for task, (_, each) in self._work.items() if each == worker]

    def _give_up(self, tasks: list[asyncio.Task[None]], why: str) -> None:
        for task in tasks:
            entry, worker = self._work.pop(task, (None, ""))
            if entry is not None and not task.done():
                task.cancel()
                self._lost(entry, worker, why)

    # One bundle

    async def _fetch(self, entry: _Entry, holder: _Holder) -> None:
        worker = holder.worker
        try:
            async with self._turn:
                blob = await self._asked_for(holder)
            facts = read_bundle(blob).facts
            path = self._folder / f"{entry.number}.bundle"
            await asyncio.to_thread(_write, path, blob)
        except (_LostError, ValueError, OSError) as error:
            self._lost(entry, worker, str(error))
            return
        detail = {
            "number": entry.number,
            "prefix": entry.prefix,
            "worker": worker,
            "function": facts["parts"][0].get("type"),
            "inputs": len(facts["parts"]) - 1,
            "left_out": facts.get("left_out", []),
            "redacted": facts.get("redacted", []),
            "size": len(blob),
            "sha256": hashlib.sha256(blob).hexdigest(),
            "instead_of": entry.instead_of and entry.instead_of.number,
        }
        del blob  # it may be large, and the store slow
        self._record_event("bundle-stored", entry.key, detail)
        await asyncio.to_thread(self._store, entry, path)

    async def _decline(self, entry: _Entry, holder: _Holder) -> None:
        with contextlib.suppress(_LostError):
            async with self._turn, _asking(holder) as ask:
                await ask(done=True)

    async def _asked_for(self, holder: _Holder) -> bytearray:
        async with _asking(holder) as ask:
            answer = await ask()
            size = answer.get("size", 0)
            blob = bytearray(answer.get("piece", b""))
            while not answer.get("failed") and len(blob) < size:
                if size > self._limit + _DESCRIPTION:
                    raise _LostError(f"it has {size} bytes, which is over the limit")
                answer = await ask(offset=len(blob))
                if not (piece := answer.get("piece")):
                    break
                blob += piece
            if answer.get("failed") or len(blob) != size or not size:
                raise _LostError(
                    answer.get("failed") or "only a part of the inputs arrived"
                )
            await ask(done=True)
        return blob

    def _store(self, entry: _Entry, path: Path) -> None:
        """Bring it to the store, if that takes it now; else it follows at the end."""
        opening, replaced = self._opening(), []
        old = entry.instead_of
        while old is not None:
            replaced.append(f"{old.number}.bundle")
            path.with_name(replaced[-1]).unlink(missing_ok=True)
            old = old.instead_of
        if opening is None or opening.store is None or opening.error is not None:
            return
        folder = f"{opening.address.folder}bundles/"
        try:
            opening.store.put(f"{folder}{path.name}", path.read_bytes())
            path.unlink(missing_ok=True)
            for name in replaced:
                opening.store.delete(f"{folder}{name}")
        except (BlackboxError, OSError) as error:
            logger.warning(
                "failed-task bundle %d remains in the spool: %s", entry.number, error
            )

    def _lost(self, entry: _Entry, worker: str, why: str) -> None:
        if entry in self._entries:
            self._entries.remove(entry)
            if entry.instead_of is not None:  # better an earlier attempt than none
                self._entries.append(entry.instead_of)
        detail = {"prefix": entry.prefix, "worker": worker, "error": why}
        self._record_event("bundle-lost", entry.key, detail)

    def _record_event(self, kind: str, key: str, detail: Mapping[str, object]) -> None:
        now = time.time()
        row = [now, kind, key, json.dumps(detail)]
        self._take("recorder", None, now, {"event": [row]}, {})


@contextlib.asynccontextmanager
async def _asking(holder: _Holder) -> AsyncIterator[Ask]:
    """Return a function that calls a worker, directly or through its scheduler."""
    from distributed.comm import Comm, connect
    from distributed.core import send_recv

    puller, worker, number, op = holder
    args = puller.connection_args
    direct = not worker.startswith("inproc://")
    comm: Comm | None = None
    try:
        if direct:
            try:
                comm = await connect(worker, timeout=_CONNECTING, **args)
            except OSError:
                direct = False
        if comm is None:
            comm = await connect(puller.address, timeout=_CONNECTING, **args)

        async def ask(**what: object) -> _Answer:
            async with asyncio.timeout(_ANSWERING):
                if direct:
                    answer = await send_recv(
                        comm, reply=True, op=op, number=number, most=_PIECE, **what
                    )
                else:
                    message = {"op": op, "number": number, **what}
                    answer = await send_recv(
                        comm, op="broadcast", msg=message, workers=[worker]
                    )
                    answer = answer.get(worker)
            if isinstance(answer, dict) and answer:
                return cast("_Answer", answer)
            return {"failed": f"its worker answered {answer!r}"}

        yield ask
    except _LostError:
        raise
    except Exception as error:
        raise _LostError(f"its worker could no longer be reached: {error!r}") from error
    finally:
        if comm is not None:
            comm.abort()


def _write(path: Path, blob: bytearray) -> None:
    make_private_folder(path.parent)
    part = path.with_suffix(".part")
    part.write_bytes(blob)
    part.replace(path)
