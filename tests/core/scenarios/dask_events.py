"""What Dask itself tells of a run: spans, topics of the user's, fine metrics, profile.

python dask_events.py STORE
"""

from __future__ import annotations

import os
import signal
import sys
import time

import dask
from dask_blackbox import recording
from distributed import Client, LocalCluster, get_worker, span
from scenario_reports import report, report_card, until

TOPICS, HEAVY = 2_500, 100_000


def busy(seconds: float) -> str:
    """Work where the profile can see it, and say so on a topic."""
    get_worker().log_event("from-a-task", {"pid": os.getpid()})
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
    return get_worker().address


def loaded(i: int) -> int:
    return i


def later(i: int) -> int:
    return i


def failing() -> None:
    raise LookupError("within a span")


class ClientOfALibrary(Client):
    """Dask names it, and a topic of its own, after its class."""


class Unreadable:
    """Something that can be pickled, and not be read where it arrives."""

    def __reduce__(self) -> tuple[type[int], tuple[str]]:
        return int, ("no number",)


def talkative() -> None:
    worker = get_worker()
    for n in range(TOPICS):
        worker.log_event("many", n)
    worker.log_event("heavy", {"text": "x" * HEAVY})


def main(store: str) -> None:
    dask.config.set({"blackbox.capture.profile-interval": "500ms"})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        ClientOfALibrary(cluster) as client,  # type: ignore[no-untyped-call]
        recording(client, store=store, job="spoken") as rec,
    ):
        with span("etl"):
            with span("load"):
                client.gather(client.map(loaded, range(5)))
            client.submit(failing).exception()
        # Of a group's name that comes again at once, clocks cannot tell the tasks apart.
        client.submit(later, 100).result()
        client.log_event("from-the-driver", {"step": 1})
        client.submit(talkative).result()
        refused = client.submit(loaded, Unreadable(), key="refused")
        client.submit(loaded, refused, key="needs-it").exception()
        victim = client.submit(busy, 3.0).result()
        # What a worker has done is with the scheduler once it has reported by a heartbeat.
        until(lambda: client.run_on_scheduler(facts_of_sketch, "busy"), "fine metrics")
        os.kill(client.run(os.getpid)[victim], signal.SIGKILL)
        until(lambda: victim not in client.scheduler_info()["workers"], "its end")
        client.submit(loaded, 200).result()
    report_card(rec, victim=victim)


def facts_of_sketch(prefix: str, dask_scheduler: object) -> bool:
    totals = getattr(dask_scheduler, "cumulative_worker_metrics", {})
    return any(prefix in map(str, key) for key in totals)


if __name__ == "__main__":
    report()
    main(sys.argv[1])
