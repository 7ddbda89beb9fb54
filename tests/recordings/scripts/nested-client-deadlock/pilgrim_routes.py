"""Stage plans for long-distance pilgrim paths.

For each path the stages between hostels are costed (climb, distance, beds) and the cheapest chain of
stages is found. Each path is one task, which hands its stages out to the cluster.
"""

import json
import math
import random
import sys
import time
from dataclasses import dataclass, field

import click
from dask.distributed import Client, get_client

PATHS = [
    "Norte",
    "Frances",
    "Primitivo",
    "Ingles",
    "Portugues",
    "Aragones",
    "Sanabres",
    "Invierno",
]


@dataclass
class Hostel:
    name: str
    km: float
    height: float
    beds: int


@dataclass
class Plan:
    path: str
    stages: list = field(default_factory=list)
    cost: float = 0.0


def hostels_of(path, n=24):
    rng = random.Random(path)
    km, out = 0.0, []
    for i in range(n):
        km += rng.uniform(4, 14)
        out.append(
            Hostel(f"{path}-{i:02d}", km, rng.uniform(50, 1400), rng.randint(6, 90))
        )
    return out


def stage_cost(a, b):
    """Hours of walking between two hostels, with Naismith's rule."""
    dist = b.km - a.km
    climb = max(0.0, b.height - a.height)
    fatigue = math.exp(max(0.0, dist - 28.0) / 10.0)
    return dist / 4.8 + climb / 600.0 + fatigue - 1.0 + 3.0 / b.beds


def costs_from(hostels, i, reach=4):
    time.sleep(0.02)  # the elevation service
    return {
        j: stage_cost(hostels[i], hostels[j])
        for j in range(i + 1, min(i + 1 + reach, len(hostels)))
    }


def cheapest(costs, n):
    best = [0.0] + [math.inf] * (n - 1)
    back = [None] * n
    for i in range(n):
        for j, c in costs[i].items():
            if best[i] + c < best[j]:
                best[j], back[j] = best[i] + c, i
    chain, at = [], n - 1
    while at is not None:
        chain.append(at)
        at = back[at]
    return best[-1], chain[::-1]


def plan_path(path):
    """One path: its stages in parallel, then the cheapest chain."""
    hostels = hostels_of(path)
    client = get_client()
    parts = [
        client.submit(costs_from, hostels, i, pure=False) for i in range(len(hostels))
    ]
    costs = [p.result() for p in parts]
    cost, chain = cheapest(costs, len(hostels))
    return Plan(path, [hostels[i].name for i in chain], cost)


def warm(client):
    """The first path alone, so that the day's numbers can be compared with yesterday's."""
    plan = client.submit(plan_path, "Ingles", key="warm-Ingles").result(timeout=20)
    click.echo(f"warm-up: {plan.path} {plan.cost:.1f} h in {len(plan.stages)} hostels")


@click.command()
@click.option("--workers", default=2)
@click.option("--threads", default=2)
@click.option("--patience", default=15.0, help="seconds to wait for all plans")
def main(workers, threads, patience):
    client = Client(
        n_workers=workers,
        threads_per_worker=threads,
        dashboard_address=":0",
        memory_limit="400MB",
    )
    try:
        warm(client)
        futures = client.map(plan_path, PATHS)
        deadline = time.monotonic() + patience
        while any(not f.done() for f in futures):
            if time.monotonic() > deadline:
                done = sum(f.done() for f in futures)
                click.echo(
                    f"only {done} of {len(futures)} paths planned after {patience:.0f} s",
                    err=True,
                )
                sys.exit(3)
            time.sleep(0.25)
        plans = client.gather(futures)
        click.echo(json.dumps({p.path: round(p.cost, 1) for p in plans}))
    finally:
        client.shutdown()


if __name__ == "__main__":
    main()
