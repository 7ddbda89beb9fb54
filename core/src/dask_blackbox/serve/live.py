"""Live runs: how far they are, as server-sent events, until they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from dask_blackbox.errors import BlackboxError
from dask_blackbox.layout import RunAddress
from dask_blackbox.manifest import Progress
from dask_blackbox.reader.documents import read_heartbeat
from dask_blackbox.serve.cards import Cards
from dask_blackbox.store import Store

__all__ = ["LiveRun", "live_events"]

_EVERY = 2.0
_LONGEST = 3600.0
"""Seconds after which a browser has to ask again: it does so by itself."""


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands.

    Attributes:
        state: `running` until it has ended.
        headline: What its card says.
        at: When the recorder wrote this, epoch seconds; null: it has not yet.
        progress: Progress; null: not counted yet.
    """

    state: str
    headline: str
    at: float | None = None
    progress: Progress | None = None


def _now(store: Store, cards: Cards, address: RunAddress) -> LiveRun:
    card = cards.card(address)
    beat = read_heartbeat(store, address.folder) if card.state == "running" else None
    return LiveRun(
        state=card.state,
        headline=card.headline,
        at=None if beat is None else beat.at,
        progress=None if beat is None else beat.progress,
    )


async def live_events(
    request: Request, store: Store, cards: Cards, address: RunAddress
) -> AsyncIterator[bytes]:
    """Yield an event whenever something is new, and the last one when the run has ended."""
    said: LiveRun | None = None
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _LONGEST
    while loop.time() < deadline and not await request.is_disconnected():
        try:
            now = await run_in_threadpool(_now, store, cards, address)
        except BlackboxError as error:
            yield _event("trouble", {"error": str(error)})
            return
        if now != said:
            yield _event("progress" if now.state == "running" else "ended", now)
            said = now
        else:
            yield b": still there\n\n"
        if now.state != "running":
            return
        await asyncio.sleep(_EVERY)


def _event(name: str, value: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(value))
