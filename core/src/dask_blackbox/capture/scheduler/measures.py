"""What the scheduler knows by the second: samples of workers and scheduler, totals, spans."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable

from .samples import scheduler_load, scheduler_sample, worker_sample
from .spans import Spans

if TYPE_CHECKING:
    from distributed import Scheduler

_TOTALS_EVERY = 10.0


class Measures:
    """Samples now and then, and looks at totals and spans more rarely.

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
        """Begin with what was there before us."""
        self.totals(time.time())
        self._clock.start()
        self.sample()

    def stop(self) -> None:
        """Sample no more."""
        self._clock.stop()

    def stealing(self, msg: object) -> None:
        """Count how a request to steal ended: the task was given up, or had begun."""
        answer = msg[0] if isinstance(msg, (tuple, list)) and msg else None
        self._stolen += answer == "confirm"
        self._refused += answer == "already-computing"

    def sample(self) -> None:
        """Put a row for each worker and for the scheduler."""
        try:
            now = time.time()
            workers = self._scheduler.workers
            for address, ws in workers.items():
                self._put("metric", worker_sample(now, address, ws))
            self._put("metric", scheduler_sample(now, self._scheduler))
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
        """Tell where the workers' time and bytes have gone so far, dead ones included."""
        self._totals_at = time.monotonic()
        totals = getattr(self._scheduler, "cumulative_worker_metrics", None)
        if totals:
            rows = [
                [*map(str, key if isinstance(key, tuple) else (key,)), value]
                for key, value in list(totals.items())
            ]
            self._report("fine-metrics", "", totals=rows)
        stolen = {"stolen": self._stolen, "steal_refused": self._refused}
        self._report("scheduler-load", "", **scheduler_load(self._scheduler), **stolen)
        self.spans.check()
