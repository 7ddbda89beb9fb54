"""The statistical profile, asked from the workers themselves.

The scheduler could merge it, but on its event loop, every time.  Workers that die leave
what had been asked of them by then.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from distributed import profile
from distributed.comm import connect
from distributed.core import send_recv

__all__ = ["profile_of", "told_within"]

_ANSWERING = 3.0
_AT_ONCE = 16
_MOST_WORKERS = 128
_LARGEST = 4 * 2**20


async def profile_of(
    workers: Iterable[str], start: float, stop: float, args: dict[str, Any]
) -> str | None:
    """Return the particulars of a `profile` event as JSON, or None if nothing ran.

    Args:
        workers: Addresses of workers; of more than a hundred some are asked.
        start: Epoch seconds.
        stop: Epoch seconds.
        args: What a connection needs (TLS).
    """
    chosen = sorted(workers)
    chosen = chosen[:: max(1, len(chosen) // _MOST_WORKERS)]
    turn = asyncio.Semaphore(_AT_ONCE)
    trees = await asyncio.gather(*(_ask(w, start, stop, args, turn) for w in chosen))
    told = [tree for tree in trees if tree and tree.get("count")]
    if not told:
        return None
    merged = profile.merge(*told)
    facts = {"start": start, "stop": stop, "asked": len(chosen), "told": len(told)}
    return told_within(facts, merged, _LARGEST)


def told_within(facts: dict[str, Any], tree: dict[str, Any], limit: int) -> str:
    """Return a profile as JSON of at most so many characters, and what that cost.

    Frames that were seen least often go first; `left_out_below` says how often those
    that are left were seen at least.

    Args:
        facts: What else to tell of it.
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
    start: float,
    stop: float,
    args: dict[str, Any],
    turn: asyncio.Semaphore,
) -> dict[str, Any] | None:
    async with turn:
        try:
            async with asyncio.timeout(_ANSWERING):
                comm = await connect(worker, timeout=_ANSWERING, **args)
                try:
                    tree = await send_recv(comm, op="profile", start=start, stop=stop)
                finally:
                    comm.abort()
        except Exception:  # noqa: BLE001 - it died, is busy, or out of our reach
            return None
    return tree if isinstance(tree, dict) else None
