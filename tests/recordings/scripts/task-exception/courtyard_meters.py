"""Heat meters of the housing association's courtyards: import of the readers' memory sticks.

A reader task takes the sticks apart and puts the readings on a queue; two bookers take them from
there and book them on the flats. Everything runs on the association's small cluster.
"""

import logging
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster, Queue, fire_and_forget

logger = logging.getLogger("meters")

YARDS = ["Linden", "Ahorn", "Kastanie", "Flieder", "Eschen"]
END = "end of sticks"


def make_sticks(folder):
    for n, yard in enumerate(YARDS):
        lines = [f"{yard}hof;{flat};{1000 + flat * 3 + n}" for flat in range(40)]
        if yard == "Flieder":
            lines[23] = "Fliederhof (Rückgebäude);23;1069"
        encoding = "latin-1" if yard == "Flieder" else "utf-8"
        (folder / f"stick{n}.txt").write_text("\n".join(lines), encoding=encoding)


def parse_stick(text):
    for line in text.splitlines():
        yard, flat, units = line.split(";")
        yield {"yard": yard, "flat": int(flat), "units": int(units)}


def read_sticks(paths, queue_name, bookers):
    queue = Queue(queue_name)
    count = 0
    for path in paths:
        raw = Path(path).read_bytes()
        readings = list(parse_stick(raw.decode("utf-8")))
        for i in range(0, len(readings), 10):
            queue.put(readings[i : i + 10])
            count += 1
    for _ in range(bookers):
        queue.put(END)
    return count


def book_readings(booker, queue_name, patience=8):
    queue = Queue(queue_name)
    booked = {}
    while True:
        batch = queue.get(timeout=patience)
        if batch == END:
            return booked
        for reading in batch:
            yard = booked.setdefault(reading["yard"], [0, 0])
            yard[0] += 1
            yard[1] += reading["units"]
        time.sleep(0.05)


def merge(parts):
    total = {}
    for part in parts:
        for yard, (flats, units) in part.items():
            have = total.setdefault(yard, [0, 0])
            have[0] += flats
            have[1] += units
    return total


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        make_sticks(folder)
        paths = sorted(str(p) for p in folder.glob("stick*.txt"))
        with (
            LocalCluster(
                n_workers=3,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            queue = Queue("readings")
            reader = client.submit(read_sticks, paths, queue.name, 2, key="read-sticks")
            fire_and_forget(reader)
            bookers = [
                client.submit(book_readings, n, queue.name, key=f"book-readings-{n}")
                for n in range(2)
            ]
            logger.info("%d sticks, %d bookers", len(paths), len(bookers))
            total = merge(client.gather(bookers))
    for yard, (flats, units) in sorted(total.items()):
        print(f"{yard:30s} {flats:4d} flats {units:8d} units")


if __name__ == "__main__":
    sys.exit(main())
