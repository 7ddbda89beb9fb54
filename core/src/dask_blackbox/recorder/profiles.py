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

_ANSWERING = 3.0
_AT_ONCE = 16
_MOST_WORKERS = 128
_LARGEST = 4 * 2**20
_LARGEST_PART = 2**18


async def profiles_of(
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
            whose = _facts_of(asked) | {"told": len(counted)}
            limit = _LARGEST if not asked else _LARGEST_PART
            texts.append(reported_within(facts | whose, profile.merge(*counted), limit))
    return texts


def scheduler_profile(tree: object, start: float, stop: float) -> str | None:
    """Return the particulars of a `profile` event of the scheduler's event loop."""
    if not isinstance(tree, dict) or not tree.get("count"):
        return None
    facts = {"start": start, "stop": stop, "asked": 1, "told": 1, "of": "scheduler"}
    return reported_within(facts, tree, _LARGEST_PART)


def _facts_of(asked: dict[str, object]) -> dict[str, object]:
    if "key" in asked:
        return {"prefix": asked["key"]}
    return {"of": "workers"} if asked.get("server") else {}


def reported_within(
    facts: dict[str, object], tree: dict[str, object], limit: int
) -> str:
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
    wanted: list[dict[str, object]],
    period: tuple[float, float],
    args: dict[str, object],
    turn: asyncio.Semaphore,
) -> list[dict[str, object] | None]:
    start, stop = period
    trees: list[dict[str, object] | None] = []
    async with turn:
        try:
            async with asyncio.timeout(_ANSWERING):
                comm = await connect(worker, timeout=_ANSWERING, **args)
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
