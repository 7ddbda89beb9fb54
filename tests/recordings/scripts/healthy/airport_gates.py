"""Gate plan of the morning: several solvers search, the first good plan is taken."""

import logging
import random
import sys
import time

from dask.distributed import Client, Event, LocalCluster, as_completed

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("airport_gates")

FLIGHTS = 60
GATES = 14


class NoPlan(Exception):
    """The solver found no admissible plan."""


def flights():
    rng = random.Random(17)
    starts = sorted(rng.randint(0, 240) for _ in range(FLIGHTS))
    return [(s, s + rng.randint(20, 45)) for s in starts]


def greedy(turnarounds, buffer):
    gates, plan = [0] * GATES, []
    for start, end in turnarounds:
        free = [g for g in range(GATES) if gates[g] + buffer <= start]
        if not free:
            raise NoPlan(f"no free gate at minute {start} with a buffer of {buffer}")
        gate = min(free, key=lambda g: start - gates[g])
        gates[gate] = end
        plan.append(gate)
    return plan


def search(turnarounds, buffer):
    return buffer, greedy(turnarounds, buffer)


def exhaustive(turnarounds, name):
    stop = Event(name)
    best = None
    while not stop.is_set():
        best = greedy(turnarounds, 0)
        time.sleep(0.2)
    return 0, best


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=3, processes=False, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            stop = Event("plan-found", client=client)
            turnarounds = client.scatter(flights())
            slow = [
                client.submit(exhaustive, turnarounds, "plan-found", key="exhaustive-0")
            ]
            quick = [
                client.submit(search, turnarounds, b, key=f"search-{b}")
                for b in (600, 300, 120, 0)
            ]
            chosen = None
            for future in as_completed(quick):
                if future.status == "error":
                    log.error("solver %s gave up: %s", future.key, future.exception())
                    continue
                buffer, chosen = future.result()
                log.info("plan with a buffer of %d minutes", buffer)
                break
            client.cancel(slow, reason="a plan was found", force=True)
            stop.set()
            if chosen is None:
                return 1
            log.info(
                "%d flights at %d gates, %d searches stopped",
                len(chosen),
                len(set(chosen)),
                len(slow),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
