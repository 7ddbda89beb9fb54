"""Pulls from one scheduler, over its own connection, and fetches profiles from the workers.

The scheduler could merge the profiles, but it would do so on its event loop each time.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from heapq import nlargest
from pathlib import Path
from typing import Any

import msgspec
from distributed import profile
from distributed.comm import Comm, connect, parse_host_port
from distributed.core import send_recv
from distributed.security import Security

from dask_blackbox.events import COLUMNS, Rows, event_rows
from dask_blackbox.manifest import SourceAccount
from dask_blackbox.protocol.messages import Attach
from dask_blackbox.recorder.spool import Take

logger = logging.getLogger("dask_blackbox.recorder")

_CONNECTING = 5.0
_GUESSED = 2.0  # seconds for an address that the driver does not use itself
_ANSWERING = 20.0
_GIVE_UP_AFTER, _REFUSED = 10.0, 1.0
_RARELY, _LAST_CHANCE = 2.0, 5.0
_SHORTEST, _LONGER = 0.02, 1.5  # seconds between two pulls, and how fast that grows
_BATCH = 2_000
_PROFILED_PREFIXES, _WORTH_A_PROFILE = 6, 0.5  # seconds of computing
_PREFIX, _COMPUTE = (COLUMNS["task"].index(name) for name in ("prefix", "compute"))


# Made at import: see docs/decisions/0014-decoders-at-import.md.
_decode_rows = msgspec.msgpack.Decoder(dict[str, list[list[object]]]).decode


class Puller:
    """Pulls the rows of one scheduler until it is gone or the run has ended.

    Args:
        attach: Which scheduler, and how to reach it.
        take: Where rows go; when it returns they are safe.
        interval: Seconds between two pulls.
        profile_interval: Seconds between two pulls of the statistical profile.
        folder: Of the spool, where a puller says to one after it that nothing is left.
        mask: Takes secret values that became known on the cluster, before any row that
            they can occur in.
        masks_known: Returns when all values that drivers have masked by now are masked.
    """

    def __init__(
        self,
        attach: Attach,
        take: Take,
        *,
        interval: float,
        profile_interval: float,
        folder: Path,
        mask: Callable[[Iterable[str]], None],
        masks_known: Callable[[], Awaitable[None]],
    ) -> None:
        self.address, self.tap = attach.address, attach.tap
        self.may_relay = attach.relays
        self.owned = attach.owned
        at = base64.urlsafe_b64encode(attach.address.encode()).decode()
        self._left = folder / f"left-{at}"
        self.source = f"scheduler {attach.address}"
        # The driver's way first: that one is known to work from this machine.
        self._addresses = list(
            dict.fromkeys(filter(None, (attach.seen_as, attach.address)))
        )
        self.reached = False
        self._refusals: dict[str, Exception] = {}
        self._take = take
        self._mask, self._masked = mask, 0
        self._masks_known = masks_known
        self._interval, self._profile_interval = interval, profile_interval
        security = Security(**attach.security)
        self.connection_args = security.get_connection_args("client")
        self._comm: Comm | None = None
        self._acknowledged = 0
        self._dropped: dict[str, int] = {}
        self._batches = 0
        self._turn = asyncio.Lock()
        self._failed = False
        self._profiled = time.time()
        self._computed: dict[str, float] = {}  # seconds by prefix since then
        self._workers: set[str] = set()
        self._stopping = False
        self._pause, self._soon = interval, asyncio.Event()
        # Epoch seconds, and the same moment by a monotonic clock.
        self._failing_since: tuple[float, float] | None = None
        self._silent = False
        self.gone: str | None = None
        # Of a scheduler that closes, or that a recorder before us has left, nothing more
        # can be had, and nothing is missing.
        self.closing = self._left.exists()

    @property
    def addresses(self) -> list[str]:
        """Addresses of the scheduler, the best one first."""
        return list(self._addresses)

    @property
    def account(self) -> SourceAccount:
        """The data that arrived from this scheduler, and the data that did not."""
        return SourceAccount(
            batches=self._batches,
            first=1 if self._batches else None,
            last=self._acknowledged or None,
            dropped=self._dropped,
            error=None if self.closing else self.gone,
        )

    async def connection_error(self) -> str | None:
        """Pull for the first time; return why this process cannot connect, None if it can.

        An address that the driver uses and that does not answer in time may do so later.
        """
        try:
            await self._pull_what_waits()
        except (OSError, TimeoutError, LookupError) as error:
            await self._disconnect()
            first = self._refusals.get(self._addresses[0], error)
            slow = isinstance(first, TimeoutError) or isinstance(
                first.__cause__, TimeoutError
            )
            return None if self.reached or slow else self._why(first)
        return None

    async def run(self) -> None:
        """Pull until the scheduler is gone; cancel to stop."""
        profiling = asyncio.create_task(self._profile_periodically())
        try:
            await self._pull_on()
        finally:
            profiling.cancel()

    async def _pull_on(self) -> None:
        while self.gone is None and not self._stopping:
            pause, begun = self._pause, (time.time(), time.monotonic())
            self._pause = min(self._interval, pause * _LONGER)
            try:
                await self._pull_what_waits()
                self._answers()
            except (OSError, TimeoutError, LookupError) as error:
                await self._disconnect()
                self._failing_since = self._failing_since or begun
                failing = time.monotonic() - self._failing_since[1]
                if self.closing or failing >= _tolerance(error):
                    self._lost(error)
                    return
                if failing >= _GIVE_UP_AFTER:
                    self._is_silent(error)
                    pause = max(pause, _RARELY)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._soon.wait()
                    self._soon.clear()

    def _is_silent(self, error: BaseException) -> None:
        """Report once that the scheduler does not answer: blocked, stopped, or unreachable.

        It may come back, and then has kept its rows; so it is not given up before the end.
        """
        if not self._silent:
            self._silent = True
            self._event("scheduler-unresponsive", error=self._why(error))

    def _answers(self) -> None:
        since, self._failing_since = self._failing_since, None
        if self._silent and since is not None:
            self._silent = False
            self._event(
                "scheduler-responded", lasted=round(time.monotonic() - since[1], 3)
            )

    def missed(self, error: BaseException) -> None:
        """Note that the scheduler ended before its last rows were fetched."""
        missing = "its last rows could not be fetched: "
        if self._silent:
            self._lost(error, missing)
        elif self.gone is None and not self.closing:
            self.gone = self._why(error, missing)

    def may_answer(self, error: BaseException) -> bool:
        """Return whether a retry may help: a server listens, but a connection broke."""
        unreachable = isinstance(
            error, (TimeoutError, ConnectionRefusedError, LookupError)
        )
        return not (unreachable or self._silent or self.closing)

    def stop(self) -> None:
        """End `run` after its current step: an aborted handshake would be logged by Dask."""
        self._stopping = True
        self._soon.set()

    def hurry(self) -> None:
        """Pull more often for a moment: a scheduler that closes waits for the next pull."""
        self._pause = min(self._interval, _SHORTEST)
        self._soon.set()

    async def drain(self, *, last: bool) -> None:
        """Pull everything that the scheduler has now.

        Raises:
            OSError: if it cannot be reached.
            TimeoutError: if it does not answer.
            LookupError: if it is there, but our plugin is not.
        """
        while self.gone is None and await self._pull(last=last) is not None:
            last = False  # once: looking at everything again makes new rows

    async def _pull_what_waits(self) -> None:
        """Pull until nothing waits; the next time, that acknowledges the last batch, too.

        A scheduler that closes waits until all is acknowledged.
        """
        while self.gone is None:
            waiting = await self._pull(last=False)
            if waiting is None or not (waiting or self.closing):
                return

    async def _pull(self, *, last: bool) -> int | None:
        """Pull a batch; return how many rows wait behind it, None if there was no batch."""
        answer = await self._ask(
            f"{self.tap}-pull",
            acknowledged=self._acknowledged,
            limit=_BATCH,
            last=last,
        )
        if not isinstance(answer, dict) or "seq" not in answer:
            raise LookupError(f"no recorder plugin on {self.address}: {answer!r}")
        self._dropped = answer["dropped"]
        if len(masked := answer.get("masked", ())) > self._masked:
            self._mask(masked)
            self._masked = len(masked)
        rows = {} if answer["rows"] is None else _decode_rows(answer["rows"])
        if any(kind != "metric" for kind in rows):
            await self._masks_known()
        # Two pulls may have been on their way: the later answer may repeat the batch.
        if answer["rows"] is None or answer["seq"] <= self._acknowledged:
            return None
        self._note_rows(rows)
        self._take(self.source, answer["seq"], answer["at"], rows, self._dropped)
        self._acknowledged = answer["seq"]
        self._batches += 1
        return int(answer["waiting"])

    def _note_rows(self, rows: Rows) -> None:
        """Note which workers there are, what they compute, and whether the scheduler closes."""
        for row in rows.get("task", ()):
            prefix, seconds = str(row[_PREFIX]), row[_COMPUTE]
            if isinstance(seconds, int | float):
                self._computed[prefix] = self._computed.get(prefix, 0.0) + seconds
        for _, kind, subject, _ in event_rows(rows):
            if kind == "worker-added":
                self._workers.add(subject)
            elif kind == "worker-removed":
                self._workers.discard(subject)
            elif kind == "scheduler-closing":
                self.closing = True

    async def leave(self) -> None:
        """Remove our plugins from the cluster, as far as it still answers."""
        with contextlib.suppress(OSError, TimeoutError, LookupError):
            await self._ask(f"{self.tap}-withdraw")
            await self.drain(last=False)
            with contextlib.suppress(OSError):
                self._left.touch()
            await self._ask(f"{self.tap}-leave")
        await self._disconnect()

    async def _profile_periodically(self) -> None:
        while True:
            await asyncio.sleep(self._profile_interval)
            await self.profile()

    async def profile(self) -> None:
        """Request the profile since the last request."""
        start, self._profiled = self._profiled, time.time()
        workers = [w for w in self._workers if not w.startswith("inproc://")]
        prefixes = [
            prefix
            for prefix in nlargest(
                _PROFILED_PREFIXES, self._computed, key=self._computed.__getitem__
            )
            if self._computed[prefix] >= _WORTH_A_PROFILE
        ]
        self._computed.clear()
        try:
            texts = await _profiles_of(
                workers, prefixes, start, self._profiled, self.connection_args
            )
            own = await self._ask("profile", scheduler=True, start=start)
            texts += filter(None, [_scheduler_profile(own, start, self._profiled)])
        except Exception as error:  # noqa: BLE001 - a version that reports it otherwise
            logger.warning("no profile from %s: %r", self.address, error)
            return
        rows = [[self._profiled, "profile", "", text] for text in texts]
        if rows:
            self._take("recorder", None, self._profiled, {"event": rows}, {})

    async def _ask(self, op: str, **what: object) -> object:
        try:
            # One question at a time on one connection.
            timeout = _LAST_CHANCE if self._silent else _ANSWERING
            async with asyncio.timeout(timeout), self._turn:
                if self._comm is None or self._comm.closed():
                    self._comm = await self._connected()
                answer = await send_recv(self._comm, reply=True, op=op, **what)
                self.reached = True
                return answer
        except asyncio.CancelledError:
            await self._disconnect()
            raise
        except (OSError, TimeoutError):
            await self._disconnect()
            raise
        except Exception as error:
            raise LookupError(f"{op}: {error!r}") from error

    async def _connected(self) -> Comm:
        """Return a connection to the first of the scheduler's addresses that answers."""
        # A first probe would be logged by the cluster; later ones find out at once that
        # no scheduler is there any more.
        knock = self._failed or self._comm is not None
        for way in self._addresses:
            try:
                if knock:
                    await _check_port(way)
                known = way == self._addresses[0]
                timeout = _CONNECTING if known else _GUESSED
                comm: Comm = await connect(way, timeout=timeout, **self.connection_args)
            # A transport that is not known here, a TLS context that is missing, …
            except Exception as error:
                self._refusals[way] = error
                if way == self._addresses[-1]:
                    raise
            else:
                self._addresses = [way]
                return comm
        raise OSError("it has no address")

    async def _disconnect(self) -> None:
        comm, self._comm = self._comm, None
        self._failed = True
        if comm is not None:
            comm.abort()

    def _why(self, error: BaseException, otherwise: str = "") -> str:
        text = str(error) or repr(error)
        if self.reached:
            return f"{otherwise}{text}"
        addresses = " or ".join(self._addresses)
        return f"the recorder cannot reach it as {addresses}: {text}"

    def _lost(self, error: BaseException, otherwise: str = "") -> None:
        self.gone = self._why(error, otherwise)
        if self.reached and not self.closing:  # else it may well be there
            at = self._failing_since[0] if self._failing_since else time.time()
            self._event("scheduler-lost", at, address=self.address, error=self.gone)

    def _event(self, kind: str, at: float | None = None, /, **detail: object) -> None:
        now = time.time()
        row = [at or now, kind, self.address, json.dumps(detail)]
        self._take("recorder", None, now, {"event": [row]}, {})


def _tolerance(error: BaseException) -> float:
    """Return how many seconds pulling may fail before the scheduler counts as lost."""
    if isinstance(error, ConnectionRefusedError):
        return _REFUSED  # nothing listens there any more
    # One that answers without our plugin is another; else it is unknown.
    return _GIVE_UP_AFTER if isinstance(error, LookupError) else math.inf


async def _check_port(address: str) -> None:
    """Fail at once where nothing listens: Dask would try again for seconds."""
    scheme, _, place = address.partition("://")
    # Not for TLS: the other side would warn of a handshake that failed.
    if scheme == "tcp":
        host, port = parse_host_port(place)
        async with asyncio.timeout(_CONNECTING):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()


_ANSWER_TIMEOUT = 3.0
_AT_ONCE = 16
_MOST_WORKERS = 128
_LARGEST = 4 * 2**20
_LARGEST_PART = 2**18


async def _profiles_of(
    workers: Iterable[str],
    prefixes: Iterable[str],
    start: float,
    stop: float,
    args: dict[str, object],
) -> list[str]:
    """Return the particulars of `profile` events as JSON; none of what did not run.

    One of all tasks, one of each prefix, and one of the workers' event loops.

    Args:
        workers: Addresses of workers; of more than a hundred some are asked.
        prefixes: Those of which a profile of their own is wanted.
        start: Epoch seconds.
        stop: Epoch seconds.
        args: What a connection needs (TLS).
    """
    chosen = sorted(workers)
    chosen = chosen[:: max(1, len(chosen) // _MOST_WORKERS)]
    wanted: list[dict[str, object]] = [{}, {"server": True}]
    wanted += [{"key": prefix} for prefix in prefixes]
    turn = asyncio.Semaphore(_AT_ONCE)
    answers = await asyncio.gather(
        *(_ask(w, wanted, (start, stop), args, turn) for w in chosen)
    )
    facts = {"start": start, "stop": stop, "asked": len(chosen)}
    texts = []
    for asked, trees in zip(wanted, zip(*answers, strict=True), strict=False):
        counted = [tree for tree in trees if tree and tree.get("count")]
        if counted:
            whose = _facts_of(asked) | {"answered": len(counted)}
            limit = _LARGEST if not asked else _LARGEST_PART
            texts.append(reported_within(facts | whose, profile.merge(*counted), limit))
    return texts


def _scheduler_profile(tree: object, start: float, stop: float) -> str | None:
    """Return the particulars of a `profile` event of the scheduler's event loop."""
    if not isinstance(tree, dict) or not tree.get("count"):
        return None
    facts = {
        "start": start,
        "stop": stop,
        "asked": 1,
        "answered": 1,
        "threads": "scheduler",
    }
    return reported_within(facts, tree, _LARGEST_PART)


def _facts_of(asked: dict[str, object]) -> dict[str, object]:
    if "key" in asked:
        return {"prefix": asked["key"]}
    return {"threads": "workers"} if asked.get("server") else {}


def reported_within(
    facts: dict[str, object], tree: dict[str, object], limit: int
) -> str:
    """Return a profile as JSON of at most so many characters, and what that cost.

    Frames that were seen least often go first; `left_out_below` says how often those
    that are left were seen at least.

    Args:
        facts: Further facts about it.
        tree: As Dask makes it; it is thinned in place.
        limit: Characters, at least some hundreds.
    """
    text = json.dumps({**facts, "tree": tree})
    least = 1
    while len(text) > limit:
        least *= 2
        _thin(tree, least)
        text = json.dumps({**facts, "left_out_below": least, "tree": tree})
    return text


def _thin(tree: dict[str, Any], least: int) -> None:
    below = [tree]
    while below:
        node = below.pop()
        kept = {n: c for n, c in node["children"].items() if c["count"] >= least}
        node["children"] = kept
        below.extend(kept.values())


async def _ask(
    worker: str,
    wanted: list[dict[str, object]],
    period: tuple[float, float],
    args: dict[str, object],
    turn: asyncio.Semaphore,
) -> list[dict[str, object] | None]:
    start, stop = period
    trees: list[dict[str, object] | None] = []
    async with turn:
        try:
            async with asyncio.timeout(_ANSWER_TIMEOUT):
                comm = await connect(worker, timeout=_ANSWER_TIMEOUT, **args)
                try:
                    for each in wanted:
                        tree = await send_recv(
                            comm,
                            reply=True,
                            op="profile",
                            start=start,
                            stop=stop,
                            **each,
                        )
                        trees.append(tree if isinstance(tree, dict) else None)
                finally:
                    comm.abort()
        except Exception:  # noqa: BLE001, S110 - it died, is busy, or out of our reach
            pass
    return trees + [None] * (len(wanted) - len(trees))
