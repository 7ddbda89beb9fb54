"""Metrics of workers and scheduler, as rows: what the scheduler knows from heartbeats."""

from __future__ import annotations

from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Scheduler
    from distributed.scheduler import WorkerState

_MOST_PLUGINS = 10
_MOST_PAIRS, _MOST_TYPES = 1_000, 40


def worker_sample(now: float, address: str, ws: WorkerState) -> tuple[object, ...]:
    """Return a `metric` row of a worker."""
    m = ws.metrics
    net = m.get("host_net_io") or {}
    disk = m.get("host_disk_io") or {}
    counts = m.get("task_counts") or {}
    ready = len(ws.processing) - int(counts.get("executing", 0))
    return (
        now, address, m.get("cpu"), m.get("memory"), m.get("managed_bytes"),
        (m.get("spilled_bytes") or {}).get("disk"), m.get("num_fds"),
        net.get("read_bps"), net.get("write_bps"), disk.get("read_bps"),
        disk.get("write_bps"), m.get("event_loop_interval"),
        counts.get("executing"), max(0, ready), len(ws.has_what), ws.status.name,
    )  # fmt: skip


def scheduler_sample(now: float, scheduler: Scheduler) -> tuple[object, ...]:
    """Return a `metric` row of the scheduler."""
    recent = scheduler.monitor.recent()
    processing = sum(len(ws.processing) for ws in scheduler.workers.values())
    ready = len(scheduler.queued) + len(scheduler.unrunnable)
    return (
        now, "scheduler", recent.get("cpu"), recent.get("memory"), None, None,
        recent.get("num_fds"), recent.get("host_net_io.read_bps"),
        recent.get("host_net_io.write_bps"), recent.get("host_disk_io.read_bps"),
        recent.get("host_disk_io.write_bps"),
        getattr(scheduler, "_tick_interval_observed", None), processing, ready,
        len(scheduler.tasks), scheduler.status.name,
    )  # fmt: skip


def scheduler_load(scheduler: object) -> dict[str, object]:
    """Return the particulars of `scheduler-load`: what it has done since its start."""
    totals = getattr(scheduler, "digests_total", None) or {}
    longest = getattr(scheduler, "digests_max", None) or {}
    stealing = (getattr(scheduler, "extensions", None) or {}).get("stealing")
    stolen = getattr(stealing, "metrics", None) or {}
    return {
        "transitions": getattr(scheduler, "transition_counter", None),
        "update_graph": totals.get("update-graph-duration"),
        "longest_tick": longest.get("tick-duration"),
        "steal_requests": sum((stolen.get("request_count_total") or {}).values()),
        "steal_cost": sum((stolen.get("request_cost_total") or {}).values()),
        "plugins": _foreign_plugins(scheduler),
        **_bandwidth(scheduler),
    }


def _bandwidth(scheduler: object) -> dict[str, object]:
    """Return how fast results came from worker to worker, and by their types."""
    pairs = dict(getattr(scheduler, "bandwidth_workers", None) or {})
    types = dict(getattr(scheduler, "bandwidth_types", None) or {})
    fastest = nlargest(_MOST_PAIRS, pairs.items(), key=itemgetter(1))
    of_types = nlargest(_MOST_TYPES, types.items(), key=itemgetter(1))
    return {
        "bandwidth_mean": getattr(scheduler, "bandwidth", None),
        "bandwidth": [[str(a), str(b), round(speed)] for (a, b), speed in fastest],
        "bandwidth_types": {str(name): round(speed) for name, speed in of_types},
    }


def _foreign_plugins(scheduler: object) -> list[str]:
    """Return the scheduler's plugins that are neither Dask's nor ours, by class."""
    found = []
    for name, plugin in list((getattr(scheduler, "plugins", None) or {}).items()):
        kind = type(plugin)
        ours = str(name).startswith("dask-blackbox-")
        if not ours and not kind.__module__.startswith("distributed."):
            found.append(f"{kind.__module__}.{kind.__qualname__}")
    return sorted(found)[:_MOST_PLUGINS]
