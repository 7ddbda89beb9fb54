"""Plans the delivery rounds of a newspaper and prints the manifests."""

import logging
import random
import sys

from dask.distributed import Client, LocalCluster, Queue, wait

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("newspaper_routes")

DISTRICTS = 14


def addresses(district):
    rng = random.Random(district)
    return [(rng.uniform(0, 5), rng.uniform(0, 5)) for _ in range(60)]


def nearest_order(points):
    here, rest, order = points[0], list(points[1:]), [points[0]]
    while rest:
        here = min(rest, key=lambda p: (p[0] - here[0]) ** 2 + (p[1] - here[1]) ** 2)
        rest.remove(here)
        order.append(here)
    return order


def plan_round(district, manifests):
    order = nearest_order(addresses(district))
    length = sum(
        ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5
        for a, b in zip(order, order[1:])
    )
    manifests.put({"district": district, "stops": len(order), "km": round(length, 1)})
    return length


def print_manifests(manifests):
    printed = []
    while manifests.qsize():
        manifest = manifests.get()
        log.info("district %(district)d: %(stops)d stops, %(km).1f km", manifest)
        printed.append(manifest["district"])
    return printed


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            manifests = Queue("manifests", client=client, maxsize=6)
            rounds = client.map(
                plan_round, range(DISTRICTS), manifests=manifests, key="plan_round"
            )
            log.info("%d rounds to plan", len(rounds))
            wait(rounds, timeout=30)
            printed = print_manifests(manifests)
            log.info("%d manifests printed", len(printed))
            if len(printed) != DISTRICTS:
                log.error("manifests are missing")
                return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
