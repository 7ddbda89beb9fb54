"""Night shift at a parcel hub: pack the lorries from the manifests of all depots.

Every depot leaves a CSV file with its consignments.  A reader in this process puts the lines on a queue as they are
parsed; packers on the cluster take them off, fill one lorry after another and return what they loaded.
"""

import csv
import logging
import random
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from distributed import Client, LocalCluster, Queue, wait

log = logging.getLogger("hub.shift")

DEPOTS = ("aarhus", "bremen", "calais", "gdynia")
LANES = 3
LORRY_KG = 18_000.0
END_OF_SHIFT = "end-of-shift"


@dataclass
class Lorry:
    lane: int
    loaded: list = field(default_factory=list)
    weight: float = 0.0

    def fits(self, kg):
        return self.weight + kg <= LORRY_KG

    def load(self, consignment, kg):
        self.loaded.append(consignment)
        self.weight += kg


def write_manifests(folder):
    """What the depots send by evening; Gdynia moved to a new terminal system last week."""
    rng = random.Random(20261128)
    folder.mkdir(exist_ok=True)
    for depot in DEPOTS:
        with open(folder / f"{depot}.csv", "w", newline="") as f:
            out = csv.writer(f, delimiter=";")
            out.writerow(["consignment", "weight_kg"])
            for i in range(60):
                kg = rng.uniform(80, 2400)
                text = f"{kg:.1f}"
                if depot == "gdynia" and i >= 20:
                    text = text.replace(".", ",")
                out.writerow([f"{depot[:2].upper()}{i:05d}", text])


def feed_depots(folder, queue, counts):
    for depot in DEPOTS:
        path = folder / f"{depot}.csv"
        if not path.exists():
            log.warning("no manifest from %s tonight", depot)
            continue
        with open(path, newline="") as f:
            for row in csv.DictReader(f, delimiter=";"):
                queue.put((row["consignment"], float(row["weight_kg"])))
                counts[depot] = counts.get(depot, 0) + 1
        log.info("manifest of %s is on the belt", depot)
    for _ in range(LANES):
        queue.put(END_OF_SHIFT)


def pack_lane(lane, queue):
    """Fill lorries until the belt says that the shift is over."""
    lorries = [Lorry(lane)]
    while True:
        item = queue.get()
        if item == END_OF_SHIFT:
            break
        consignment, kg = item
        if not lorries[-1].fits(kg):
            lorries.append(Lorry(lane))
        lorries[-1].load(consignment, kg)
    return [(x.lane, len(x.loaded), round(x.weight)) for x in lorries]


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    folder = Path("manifests")
    write_manifests(folder)
    counts = {}
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            belt = Queue("belt", client=client, maxsize=50)
            packers = [
                client.submit(
                    pack_lane, lane, belt, key=f"pack_lane-{lane}", pure=False
                )
                for lane in range(LANES)
            ]
            reader = threading.Thread(
                target=feed_depots,
                args=(folder, belt, counts),
                name="manifest-reader",
                daemon=True,
            )
            reader.start()
            try:
                wait(packers, timeout=20)
                for lorries in client.gather(packers):
                    for lane, parcels, kg in lorries:
                        log.info("lane %d: %d parcels, %d kg", lane, parcels, kg)
            finally:
                log.info("lines read: %s", counts)
                client.cancel(packers, force=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
