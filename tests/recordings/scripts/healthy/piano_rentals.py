"""Rental invoices of the piano house; the cluster shrinks when the heavy part is over."""

import logging
import time

import dask.bag as db
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("pianos")


def contracts(count):
    return [
        {
            "piano": f"P{n:03d}",
            "grand": n % 5 == 0,
            "months": 1 + n % 12,
            "city": ("Jena", "Gera", "Suhl")[n % 3],
        }
        for n in range(count)
    ]


def wear(contract):
    time.sleep(0.02)
    strokes = contract["months"] * (90_000 if contract["grand"] else 40_000)
    return {**contract, "wear": strokes / 1e6}


def invoice(contract):
    rate = 95.0 if contract["grand"] else 38.0
    return contract["city"], contract["months"] * rate + contract["wear"] * 12


def shrink(client, keep):
    workers = list(client.scheduler_info()["workers"])
    leaving = workers[keep:]
    log.info("retiring %s", ", ".join(leaving))
    client.retire_workers(leaving, close_workers=True)
    return len(leaving)


def main():
    logging.basicConfig(level=logging.INFO)
    with LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            worn = db.from_sequence(contracts(240), npartitions=12).map(wear).persist()
            wait(worn)
            shrink(client, keep=1)
            deadline = time.monotonic() + 10
            while (
                len(client.scheduler_info()["workers"]) > 1
                and time.monotonic() < deadline
            ):
                time.sleep(0.1)
            totals = worn.map(invoice).foldby(
                lambda i: i[0], lambda t, i: t + i[1], 0.0, lambda a, b: a + b, 0.0
            )
            for city, amount in sorted(totals.compute()):
                print(f"{city}: {amount:.2f}")
            client.publish_dataset(worn, name="worn-pianos")
            log.info("published: %s", client.list_datasets())
            client.unpublish_dataset("worn-pianos")


if __name__ == "__main__":
    main()
