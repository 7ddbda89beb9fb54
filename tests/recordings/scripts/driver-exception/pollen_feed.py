"""Daily pollen index: a feeder thread puts the counts of the traps into a queue, tasks take them out."""

import argparse
import collections
import logging
import os
import random
import tempfile
import threading

from distributed import Client, LocalCluster, Queue

log = logging.getLogger("pollen")
SPECIES = ["betula", "alnus", "corylus", "quercus", "poaceae", "artemisia"]
END = "-- end of feed --"


def write_traps(folder, traps):
    rng = random.Random(5)
    places = [
        "Aarau",
        "Basel",
        "Chur",
        "Delemont",
        "Einsiedeln",
        "Frauenfeld",
        "Genève",
        "Herisau",
    ]
    for number in range(traps):
        place = places[number % len(places)]
        encoding = (
            "utf-8" if number != 6 else "cp1252"
        )  # as delivered by the trap's own logger
        with open(
            os.path.join(folder, f"trap_{number}.txt"), "w", encoding=encoding
        ) as out:
            out.write(f"# {place}\n")
            for hour in range(72):
                for species in SPECIES:
                    out.write(f"{hour};{species};{rng.randint(0, 90)}\n")


class Feeder(threading.Thread):
    """Reads the trap files and puts batches of rows into the cluster's queue."""

    def __init__(self, folder, queue, batch, takers):
        super().__init__(name="feeder", daemon=True)
        self.folder, self.queue, self.batch, self.takers = folder, queue, batch, takers
        self.rows = 0

    def run(self):
        try:
            for name in sorted(os.listdir(self.folder)):
                self.feed(os.path.join(self.folder, name))
            for _ in range(self.takers):
                self.queue.put(END)
        except Exception as exc:
            log.info("feeder leaves after %d rows (%s)", self.rows, exc)

    def feed(self, path):
        with open(path, encoding="utf-8") as lines:
            place = lines.readline().strip("# \n")
            batch = []
            for line in lines:
                hour, species, count = line.rstrip().split(";")
                batch.append((place, int(hour), species, int(count)))
                if len(batch) == self.batch:
                    self.queue.put(batch)
                    self.rows += len(batch)
                    batch = []
            if batch:
                self.queue.put(batch)
                self.rows += len(batch)


def tally(name, patience):
    """Take batches until the feed ends; sums per place and species."""
    queue = Queue(name)
    sums = collections.Counter()
    while True:
        batch = queue.get(timeout=patience)
        if batch == END:
            return dict(sums)
        for place, _, species, count in batch:
            sums[place, species] += count


def merge(parts):
    total = collections.Counter()
    for part in parts:
        total.update(part)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traps", type=int, default=8)
    parser.add_argument("--takers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--patience", default="12s")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(threadName)s %(levelname)s %(message)s",
    )

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="250MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        write_traps(folder, args.traps)
        queue = Queue("pollen-rows", client=client)
        feeder = Feeder(folder, queue, args.batch, args.takers)
        feeder.start()
        takers = [
            client.submit(
                tally, "pollen-rows", args.patience, key=f"tally-{n}", pure=False
            )
            for n in range(args.takers)
        ]
        index = client.submit(merge, takers, key="merge-tallies").result()
        feeder.join()
        for (place, species), count in sorted(index.items()):
            log.info("%-12s %-10s %6d", place, species, count)


if __name__ == "__main__":
    main()
