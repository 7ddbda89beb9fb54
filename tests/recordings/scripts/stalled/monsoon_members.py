"""A small ensemble of monsoon models that exchange their mean state after each week."""

import argparse
import logging
import os
import sys

import numpy as np
from distributed import Client, Event, LocalCluster, Queue, wait

log = logging.getLogger("monsoon")


class Meeting:
    """All members meet here at the end of a week; the last one to come opens the door."""

    def __init__(self, name, size):
        self.name, self.size = name, size

    def attend(self, member, state):
        arrivals = Queue(f"{self.name}-arrivals")
        door = Event(f"{self.name}-door")
        arrivals.put((member, float(state.mean())))
        if arrivals.qsize() >= self.size:
            door.set()
        door.wait()


def step(state, rng, drag):
    lap = (
        np.roll(state, 1, 0)
        + np.roll(state, -1, 0)
        + np.roll(state, 1, 1)
        + np.roll(state, -1, 1)
        - 4 * state
    )
    return state + 0.1 * lap - drag * state + rng.normal(0, 0.02, state.shape)


def spin_up(member, cells):
    rng = np.random.default_rng(100 + member)
    state = rng.normal(0, 1, (cells, cells))
    for _ in range(200):
        state = step(state, rng, 0.01)
    return state


def run_member(member, state, weeks, size, drag):
    rng = np.random.default_rng(member)
    for week in range(weeks):
        for _ in range(7 * 24):
            state = step(state, rng, drag)
        Meeting(f"week-{week}", size).attend(member, state)
    return member, float(state.mean()), float(state.std())


def setup(args):
    cluster = LocalCluster(
        n_workers=args.workers,
        threads_per_worker=args.threads,
        memory_limit="280MiB",
        dashboard_address=None,
    )
    client = Client(cluster)
    client.wait_for_workers(args.workers, timeout=90)
    log.info(
        "cluster with %d threads on %d workers",
        sum(client.nthreads().values()),
        args.workers,
    )
    return cluster, client


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--weeks", type=int, default=2)
    parser.add_argument("--cells", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--walltime", type=float, default=float(os.environ.get("MONSOON_WALLTIME", 30))
    )
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    cluster, client = setup(args)
    try:
        starts = client.map(spin_up, range(args.members), cells=args.cells)
        wait(starts)
        log.info("%d members spun up", len(starts))
        runs = [
            client.submit(
                run_member,
                member,
                start,
                args.weeks,
                args.members,
                0.005,
                key=f"member-{member}",
            )
            for member, start in enumerate(starts)
        ]
        done = wait(runs, timeout=args.walltime).done
        for member, mean, std in client.gather(list(done)):
            log.info("member %d: mean %.4f, spread %.4f", member, mean, std)
    finally:
        client.close()
        cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
