"""Measurements on the scheduler: samples of workers and scheduler, totals, spans."""

from __future__ import annotations

import time
from collections import Counter
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Callable, Iterable

from ..executions import short_key

if TYPE_CHECKING:
    from distributed import Scheduler
    from distributed.scheduler import WorkerState
    from distributed.spans import Span


_TOTALS_EVERY = 10.0


class Measures:
    """Samples each second, and reads totals and spans every ten seconds.

    Args:
        put: Takes a row, by kind.
        report: Takes kind, subject and particulars of an event.
        interval: Seconds between two samples.
        each: Called after each sample, with the moment.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        put: Callable[[str, object], None],
        report: Callable[..., None],
        interval: float,
        each: Callable[[float], None],
    ) -> None:
        from tornado.ioloop import PeriodicCallback

        self._scheduler, self._put, self._report = scheduler, put, report
        self._interval, self._each = interval, each
        self.spans = Spans(scheduler, report)
        self._totals_at = 0.0
        self._stolen = self._refused = 0
        self._clock = PeriodicCallback(self.sample, interval * 1000)

    def start(self) -> None:
        """Start with the totals from before the recording."""
        self.totals(time.time())
        self._clock.start()
        self.sample()

    def stop(self) -> None:
        """Stop sampling."""
        self._clock.stop()

    def stealing(self, msg: object) -> None:
        """Count the outcome of a steal request: the task was released, or had started."""
        answer = msg[0] if isinstance(msg, (tuple, list)) and msg else None
        self._stolen += answer == "confirm"
        self._refused += answer == "already-computing"

    def sample(self) -> None:
        """Record a row for each worker and for the scheduler."""
        try:
            now = time.time()
            workers = self._scheduler.workers
            for address, ws in workers.items():
                self._put("metric", _worker_sample(now, address, ws))
            self._put("metric", _scheduler_sample(now, self._scheduler))
            self._each(now)
            if time.monotonic() - self._totals_at >= _TOTALS_EVERY:
                self.totals(now)
            # Large clusters: as many rows per second as heartbeats, not more.
            wanted = self._interval * 1000 * max(1.0, len(workers) / 100)
            if abs(self._clock.callback_time - wanted) > wanted / 10:
                self._clock.callback_time = wanted
        except Exception as error:
            self._clock.stop()
            self._report("capture-failed", "", doing="metrics", error=repr(error))

    def totals(self, now: float) -> None:
        """Report the totals of the workers' time and bytes so far, including dead workers."""
        self._totals_at = time.monotonic()
        totals = getattr(self._scheduler, "cumulative_worker_metrics", None)
        if totals:
            rows = [
                [*map(str, key if isinstance(key, tuple) else (key,)), value]
                for key, value in list(totals.items())
            ]
            self._report("fine-metrics", "", totals=rows)
        stolen = {"stolen": self._stolen, "steal_refused": self._refused}
        self._report("scheduler-load", "", **_scheduler_load(self._scheduler), **stolen)
        self.spans.check()


_MOST_PLUGINS = 10
_MOST_PAIRS, _MOST_TYPES = 1_000, 40


def _worker_sample(now: float, address: str, ws: WorkerState) -> tuple[object, ...]:
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
        m.get("gpu_utilization"), m.get("gpu_memory_used"),
    )  # fmt: skip


def _scheduler_sample(now: float, scheduler: Scheduler) -> tuple[object, ...]:
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
        len(scheduler.tasks), scheduler.status.name, None, None,
    )  # fmt: skip


def _scheduler_load(scheduler: object) -> dict[str, object]:
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


_MOST_SPANS = 1_000
_MOST_GROUPS, _MOST_METRICS = 200, 500


class Spans:
    """Reports the spans in which tasks of ours are, each time that one has changed.

    Args:
        report: Takes kind, subject and particulars of an event.
    """

    def __init__(self, scheduler: object, report: Callable[..., None]) -> None:
        self._scheduler, self._report = scheduler, report
        self._reported: dict[
            str, object
        ] = {}  # what changes, by id; None: not reported yet
        self._done: set[str] = set()
        self.excludes = 0

    def seen(self, groups: Iterable[object]) -> None:
        """Note the spans of groups in which a graph has brought tasks of ours."""
        known = {str(getattr(group, "span_id", None) or "") for group in groups}
        for span in known - self._reported.keys() - {""}:
            if len(self._reported) < _MOST_SPANS:
                self._reported[span] = None
            else:
                self.excludes += 1
        self._done -= known

    def check(self) -> None:
        """Report those that have changed since the last time."""
        extensions = getattr(self._scheduler, "extensions", None) or {}
        spans = getattr(extensions.get("spans"), "spans", {})
        for name in [n for n in self._reported if n not in self._done]:
            span = spans.get(name)
            while span is not None and span.parent is not None:
                span = span.parent
                self._reported.setdefault(span.id, None)
        for name in [n for n in self._reported if n not in self._done]:
            span = spans.get(name)
            if span is None:
                continue
            facts = _facts(span)
            spent = sum(each[-1] for each in facts["metrics"])
            changing = (facts["states"], facts["nbytes"], spent)
            if changing != self._reported[name]:
                self._reported[name] = changing
                self._report("span", name, **facts)
            elif facts["done"]:  # until another graph has tasks in it
                self._done.add(name)
        if self.excludes:
            excludes, self.excludes = self.excludes, 0
            error = f"{excludes} more spans than the {_MOST_SPANS} that are recorded"
            self._report("capture-failed", "", doing="spans", error=error)


def _facts(span: Span) -> dict[str, Any]:
    """Return the facts of a span itself, without the spans within it."""
    groups = list(span.groups)
    states: Counter[str] = Counter()
    durations: dict[str, float] = {}
    for group in groups:
        states.update(group.states)
        for action, seconds in group.all_durations.items():
            durations[action] = durations.get(action, 0.0) + seconds
    metrics = getattr(span, "_cumulative_worker_metrics", None) or {}
    return {
        "name": [str(word) for word in span.name],
        "parent": None if span.parent is None else span.parent.id,
        "enqueued": span.enqueued,
        "start": min((group.start for group in groups if group.start), default=None),
        "stop": max((group.stop for group in groups if group.stop), default=None),
        "done": all(group.done for group in groups),
        "states": +states,
        "nbytes": sum(group.nbytes_total for group in groups),
        "durations": durations,
        "groups": [short_key(group.name) for group in groups[:_MOST_GROUPS]],
        "all_groups": len(groups),
        "metrics": [
            [*map(str, key if isinstance(key, tuple) else (key,)), value]
            for key, value in list(metrics.items())[:_MOST_METRICS]
        ],
    }
