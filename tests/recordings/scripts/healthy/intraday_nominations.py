"""Intraday nominations of a gas trader.

The network operator publishes the capacities of each border point some time after the hour. The job is started on
the hour, prepares what it can, waits for the publication and nominates as soon as it is there.
"""

import json
import logging
import pathlib
import subprocess
import sys
import time

from distributed import Client, Event, LocalCluster

log = logging.getLogger("nominations")

POINTS = [
    "Baumgarten",
    "Bacton",
    "Emden",
    "Mallnow",
    "Tarvisio",
    "VIP Iberico",
    "Zeebrugge",
    "Ellund",
]

PUBLISHER = """
import json, pathlib, sys, time
points = sys.argv[2].split(",")
time.sleep(float(sys.argv[1]))
part = pathlib.Path("capacities.part")
part.write_text(json.dumps({p: 1200 + 35 * n for n, p in enumerate(points)}))
part.rename("capacities.json")
"""


def forecast_demand(point, hour):
    demand = 900.0
    for step in range(400):
        demand += ((len(point) * step * hour) % 17 - 8) * 0.5
        time.sleep(0.001)
    return demand


def nominate(point, demand, published):
    """Waits until the capacities are out; all points are nominated on the same publication."""
    if not Event("capacities-published").wait(timeout=120):
        raise TimeoutError(f"no capacities for {point}")
    capacity = json.loads(pathlib.Path(published).read_text())[point]
    return {
        "point": point,
        "quantity": round(min(demand, capacity), 1),
        "capacity": capacity,
    }


def await_publication(client, published, patience):
    started = time.monotonic()
    event = Event("capacities-published", client=client)
    while not published.exists():
        if time.monotonic() - started > patience:
            raise TimeoutError("the operator has published nothing")
        time.sleep(0.5)
    log.info("capacities are out after %.0f s", time.monotonic() - started)
    event.set()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    published = pathlib.Path("capacities.json").absolute()
    published.unlink(missing_ok=True)
    pathlib.Path("operator.json").unlink(missing_ok=True)
    pathlib.Path("publish_capacities.py").write_text(PUBLISHER)
    operator = subprocess.Popen(
        [sys.executable, "publish_capacities.py", "24", ",".join(POINTS)]
    )

    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="300MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            demands = [client.submit(forecast_demand, point, 14) for point in POINTS]
            nominations = [
                client.submit(nominate, point, demand, str(published))
                for point, demand in zip(POINTS, demands)
            ]
            log.info("%d points prepared, waiting for the operator", len(POINTS))
            await_publication(client, published, patience=90)
            for nomination in client.gather(nominations):
                log.info("%(point)-12s %(quantity)8.1f of %(capacity)d", nomination)
    return operator.wait()


if __name__ == "__main__":
    sys.exit(main())
