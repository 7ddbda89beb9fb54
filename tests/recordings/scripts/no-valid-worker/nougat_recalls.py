"""Recall list of a confectionery: find the lots that share an almond delivery with a complaint.

Reading lot codes from photographs needs the licensed code reader, of which each worker has one seat; everything
else runs anywhere. The list must be with the call centre by its deadline.
"""

import logging
import random
import time

import click
from distributed import Client, LocalCluster, wait

log = logging.getLogger("recalls")

SEATS = {"CODEREADER": 1}


def load_complaints(region):
    rnd = random.Random(region)
    time.sleep(0.1)
    return [(region, rnd.randrange(10_000), rnd.choice("ABCDEF")) for _ in range(40)]


def deliveries(batch):
    rnd = random.Random(batch * 7)
    time.sleep(0.05)
    return {f"ALM-{batch}-{k}": rnd.randrange(10_000) for k in range(25)}


def photo_index(complaints):
    return sorted({c[1] for c in complaints})


def match_lot(index, table):
    known = set(table.values())
    return [i for i in index if i in known]


class RecallRun:
    def __init__(self, client, deadline):
        self.client = client
        self.deadline = deadline

    def prepare(self):
        complaints = self.client.map(
            load_complaints, ["north", "south", "east", "west"]
        )
        tables = self.client.map(deliveries, range(6))
        indexes = self.client.map(photo_index, complaints)
        wait(indexes + tables)
        log.info("%d regions and %d deliveries loaded", len(indexes), len(tables))
        return indexes, tables

    def match(self, indexes, tables):
        pairs = [
            self.client.submit(
                match_lot, index, table, resources={"CODE_READER": 1}, retries=2
            )
            for index in indexes
            for table in tables
        ]
        done = False
        try:
            wait(pairs, timeout=self.deadline)
            done = True
            return self.client.gather(pairs)
        finally:
            if not done:
                log.warning("cancelling what is left")
                self.client.cancel(pairs)


@click.command()
@click.option(
    "--deadline", default=12.0, help="seconds until the call centre needs the list"
)
@click.option("--workers", default=2)
def main(deadline, workers):
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit="400MB",
            resources=SEATS,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        run = RecallRun(client, deadline)
        indexes, tables = run.prepare()
        try:
            hits = run.match(indexes, tables)
        except TimeoutError:
            log.error(
                "recall list not ready by its deadline of %.0f s, calling off", deadline
            )
            raise SystemExit(3)
        with open("recall_list.txt", "w") as out:
            for hit in hits:
                out.write(f"{hit}\n")


if __name__ == "__main__":
    main()
