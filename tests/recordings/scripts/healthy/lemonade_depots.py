"""Loads the lemonade lorries of the summer tour.

Depots are counted at once, but loading waits for the customs office's clearance (an event that the driver sets when
the office's file has come), and every depot has one ramp, so that its lorries are loaded one by one.
"""

import logging
import threading
import time
from pathlib import Path

from distributed import Client, Event, LocalCluster, Lock, Queue, Variable, as_completed

log = logging.getLogger("lemonade")

DEPOTS = {"Ulm": 3, "Kiel": 4, "Jena": 3}
CLEARANCE = Path("clearance.txt")


def count_crates(depot):
    time.sleep(0.5)
    return {"depot": depot, "crates": 120 + 11 * len(depot)}


def load_lorry(stock, lorry):
    waited = time.monotonic()
    if not Event("cleared").wait(timeout=60):
        raise TimeoutError("no clearance within a minute")
    with Lock(f"ramp-{stock['depot']}"):
        time.sleep(1.2)
        factor = Variable("crates-per-lorry").get(timeout=5)
    Queue("departures").put((stock["depot"], lorry))
    return (
        stock["depot"],
        lorry,
        min(factor, stock["crates"]),
        time.monotonic() - waited,
    )


def customs_office(after):
    time.sleep(after)
    CLEARANCE.write_text("cleared 42 crates\n")


def await_clearance(limit=40):
    started = time.monotonic()
    while not CLEARANCE.exists():
        if time.monotonic() - started > limit:
            raise TimeoutError("customs office sent nothing")
        time.sleep(0.5)
    time.sleep(0.2)
    return int(CLEARANCE.read_text().split()[1])


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    CLEARANCE.unlink(missing_ok=True)
    office = threading.Thread(target=customs_office, args=(13,), daemon=True)
    office.start()
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            departures = Queue("departures")
            stocks = {
                d: client.submit(count_crates, d, key=f"count_crates-{d}")
                for d in DEPOTS
            }
            lorries = [
                client.submit(load_lorry, stocks[d], n, key=f"load_lorry-{d}-{n}")
                for d, count in DEPOTS.items()
                for n in range(count)
            ]
            log.info("%d lorries wait for clearance", len(lorries))
            crates = await_clearance()
            Variable("crates-per-lorry").set(crates)
            Event("cleared").set()

            loaded = 0
            for future in as_completed(lorries, timeout=60):
                depot, lorry, number, waited = future.result()
                loaded += number
                log.info(
                    "lorry %d of %s leaves with %d crates after %.1f s",
                    lorry,
                    depot,
                    number,
                    waited,
                )
            assert departures.qsize() == len(lorries)
            log.info("%d crates on the road", loaded)
    office.join()


if __name__ == "__main__":
    main()
