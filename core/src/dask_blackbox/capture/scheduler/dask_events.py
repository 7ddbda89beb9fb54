"""What Dask's own event log reports, what users log there, and why a scheduler closes.

Hooks of plugins receive less: only these events show whether a worker was expected to leave.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Iterator, Sequence

from ..executions import short_key
from ..logs import cut

if TYPE_CHECKING:
    from types import FrameType

    from distributed import Scheduler


# What Dask itself logs; all other topics are the user's.
_DASK_TOPICS = frozenset(
    (
        "all",
        "p2p",
        "scheduler",
        "stealing",
        "transitions",
        "worker-client",
        "worker-fail-hard",
        "worker-get-client",
        "worker-restart-memory",
    )
)
# A client is called after its class, which may be one of a library (`PrefectDaskClient-…`),
# after its name, if it has one, and a UUID of the first version.
_CLIENT = re.compile(
    r"\w{1,100}-(?:.{1,100}-)?[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_OURS = "dask-blackbox-"
_LONGEST = 8_000
_MOST_KEYS = 1_000
_MOST_FRAMES = 20  # between a message of the scheduler and what reads it

Reported = tuple[str, str, dict[str, object]]
"""Kind, subject and particulars of an event."""


def reported_by_dask(topic: str, msg: object) -> Iterator[Reported]:
    """Yield the events of a message on one of Dask's topics."""
    if topic.startswith(_OURS):  # another recording's
        return
    dasks = topic in _DASK_TOPICS or "://" in topic
    if not (dasks or _CLIENT.fullmatch(topic)):
        yield "user-event", "", {"topic": topic, "message": _bounded(msg)}
    elif not isinstance(msg, dict):
        return
    elif topic == "all":
        yield from _cluster_events(msg)
    elif topic == "p2p":
        yield "p2p", "", {"message": {k: str(v) for k, v in msg.items()}}
    elif topic == "worker-restart-memory":
        facts = {"pid": msg.get("pid"), "rss": msg.get("rss")}
        yield "worker-restarted-for-memory", str(msg.get("worker", "")), facts
    elif topic == "worker-fail-hard":
        yield (
            "worker-failed-hard",
            str(msg.get("worker", "")),
            {"message": _bounded(msg)},
        )
    else:
        yield from _topic_events(topic, msg)


def _cluster_events(msg: dict[str, Any]) -> Iterator[Reported]:
    action = msg.get("action")
    if action == "remove-worker":
        lost = [str(k) for k in msg.get("lost-scattered-tasks", ())]
        facts = {
            "stimulus_id": msg.get("stimulus_id"),
            "expected": msg.get("expected"),
            "processing": [str(k) for k in msg.get("processing-tasks", ())][
                :_MOST_KEYS
            ],
            "lost_computed": len(msg.get("lost-computed-tasks", ())),
            "lost_scattered": lost[:_MOST_KEYS],
        }
        yield "worker-removed", str(msg.get("worker", "")), facts
    elif action == "retire-workers":
        yield (
            "workers-retired",
            "",
            {"workers": [str(w) for w in msg.get("workers", ())]},
        )


def _topic_events(topic: str, msg: dict[str, Any]) -> Iterator[Reported]:
    """Yield the events on the topic of a worker, of a client, or of the scheduler."""
    action = msg.get("action")
    if action == "closing-worker":
        yield "worker-closing", topic, {"reason": msg.get("reason")}
    elif action == "worker-status-change":
        facts = {"before": msg.get("prev-status"), "after": msg.get("status")}
        yield "worker-status", topic, facts
    elif action == "worker-ttl-timed-out":
        for worker in msg.get("workers", ()):
            yield "worker-ttl", str(worker), {"ttl": msg.get("ttl")}
    elif action == "update-graph" and msg.get("status") in ("error", "cancelled"):
        client = str(msg.get("client", topic))
        # Dask logs it under the scheduler and under the client: keys may be many, so only once.
        wanted = _wanted_of_graph() if topic == "scheduler" else {}
        yield "graph-failed", client, {"status": msg["status"], **wanted}


def _wanted_of_graph() -> dict[str, object]:
    """Return what a client asked a graph for; no hook of plugins gets that of one that failed."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        keys = frame.f_locals.get("keys")
        if frame.f_code.co_name == "update_graph" and isinstance(keys, (set, list)):
            firsts = [short_key(str(key)) for key in islice(keys, _MOST_KEYS)]
            return {"keys": firsts, "wanted": len(keys)}
        frame = frame.f_back
    return {}


def _bounded(msg: object) -> object:
    text = json.dumps(msg, default=str)
    if len(text) > _LONGEST:
        return cut(text, _LONGEST)
    return json.loads(text)


_NOTES = "_dask_blackbox_closing"
_ASKED = "terminate"  # the operation that clients and cluster objects call


GATEWAY = "dask_gateway.scheduler_preload"
"""Logger of dask-gateway in its schedulers."""


def ends_idle_cluster(row: Sequence[Any]) -> bool:
    """Return whether a line says that a gateway is about to stop its cluster, which was idle."""
    return row[5] == GATEWAY and str(row[7]).startswith("Cluster has been idle for ")


def watch_closing(scheduler: Scheduler) -> None:
    """Note from now on why this scheduler closes."""
    notes = scheduler.__dict__.get(_NOTES)
    if notes is None:
        notes = scheduler.__dict__[_NOTES] = {"users": 0}
        _wrap_close(scheduler, notes)
        _wrap_terminate(scheduler, notes)
    notes["users"] += 1


def unwatch_closing(scheduler: Scheduler) -> None:
    """Stop recording it, unless another process needs it."""
    notes = scheduler.__dict__.get(_NOTES)
    if notes is None:
        return
    notes["users"] -= 1
    if notes["users"] > 0:
        return
    del scheduler.__dict__[_NOTES]
    if scheduler.__dict__.get("close") is notes["close"]:
        del scheduler.__dict__["close"]
    if scheduler.handlers.get(_ASKED) is notes.get("terminate"):
        scheduler.handlers[_ASKED] = notes["terminated"]


def closing_of(scheduler: Scheduler) -> dict[str, str]:
    """Return the `reason` for which a scheduler closes and who asked (`by`), if known."""
    notes = scheduler.__dict__.get(_NOTES) or {}
    return {"reason": notes.get("reason", ""), "by": notes.get("by", "")}


def _wrap_close(scheduler: Scheduler, notes: dict[str, object]) -> None:
    inner: Callable[..., Awaitable[object]] = scheduler.close

    async def close(*args: object, **kwargs: object) -> object:
        reason = kwargs.get("reason", args[1] if len(args) > 1 else "")
        notes.setdefault("reason", str(reason))
        return await inner(*args, **kwargs)

    notes["close"] = scheduler.__dict__["close"] = close


def _wrap_terminate(scheduler: Scheduler, notes: dict[str, object]) -> None:
    inner = scheduler.handlers.get(_ASKED)
    if inner is None:
        return

    # Dask passes the connection to a handler whose first argument has this name.
    async def terminate(comm: object, **kwargs: object) -> object:
        notes.setdefault("reason", _ASKED)
        notes.setdefault("by", str(getattr(comm, "peer_address", "")))
        return await inner(**kwargs)

    notes["terminated"] = inner
    notes["terminate"] = scheduler.handlers[_ASKED] = terminate
