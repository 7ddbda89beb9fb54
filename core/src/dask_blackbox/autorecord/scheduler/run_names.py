"""What a run is called of which only a scheduler knows: job and particulars."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dask_blackbox.capture.scheduler.ownership import root_span

__all__ = ["host_of", "job_of", "packages_of"]

_UNNAMED = "default"
# `Client(name="etl")` makes the id `Client-etl-<uuid>`.
_NAMED = re.compile(
    r"^[A-Za-z]*Client-(?P<name>.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
)


def job_of(scheduler: Any, client: str, keys: Iterable[object], setting: object) -> str:
    """Return what is run again and again, as far as the scheduler can know.

    The outermost span says it, or the client's name, or the file whose code made the
    first graph (where Dask's `computations.nframes` sends it), or what the first graph
    mostly consists of.

    Args:
        scheduler: The scheduler.
        client: Id of the client.
        keys: Of the first graph.
        setting: `blackbox.job`, which has the last word.
    """
    if setting:
        return str(setting)
    tasks = [ts for key in keys if (ts := scheduler.tasks.get(key)) is not None]
    for ts in tasks[:1]:
        span = root_span(scheduler, ts.group)
        if span is not None and span.name != (_UNNAMED,):
            return str(span.name[0])
    named = _NAMED.match(client)
    if named is not None:
        return named["name"]
    return _file_in(scheduler) or _most_of(tasks) or "client"


def _file_in(scheduler: object) -> str | None:
    computations = getattr(scheduler, "computations", None)
    for frames in computations[-1].code if computations else ():
        for frame in frames:
            name = str(getattr(frame, "filename", "")).replace("\\", "/")
            if name and not name.startswith("<"):
                return name.rsplit("/", 1)[-1].removesuffix(".py")
    return None


def _most_of(tasks: Iterable[Any]) -> str | None:
    counts: dict[str, int] = {}
    for ts in tasks:
        counts[ts.prefix.name] = counts.get(ts.prefix.name, 0) + 1
    return max(counts, key=counts.__getitem__) if counts else None


def host_of(scheduler: Any, client: str, span: Any) -> dict[str, object]:
    """Return what started a run, as the scheduler sees it.

    Args:
        scheduler: The scheduler.
        client: Id of the client.
        span: The outermost span, if it is the run.
    """
    comm = getattr(scheduler.client_comms.get(client), "comm", None)
    facts = {
        "kind": "scheduler",
        "scheduler": str(scheduler.address),
        "client": client,
        "peer": str(getattr(comm, "peer_address", "") or ""),
        "span": None if span is None else "/".join(map(str, span.name)),
    }
    return {name: value for name, value in facts.items() if value}


def packages_of(scheduler: Any, client: str) -> dict[str, object]:
    """Return what a client said of its environment when it connected."""
    versions = getattr(scheduler.clients.get(client), "versions", None) or {}
    packages = versions.get("packages") or {}
    python = packages.get("python") or dict(versions.get("host") or {}).get("python")
    return {"python": None if python is None else str(python), "packages": packages}
