"""Opens the attendance sheets of the choirs and compares voices per rehearsal."""

import csv
import random
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

VOICES = ["soprano", "alto", "tenor", "bass"]


def write_sheets(folder):
    random.seed(77)
    for choir in range(12):
        with open(folder / f"choir_{choir:02d}.csv", "w", newline="") as out:
            writer = csv.DictWriter(out, ["rehearsal", *VOICES])
            writer.writeheader()
            for rehearsal in range(40):
                writer.writerow(
                    {
                        "rehearsal": rehearsal,
                        **{voice: random.randint(3, 14) for voice in VOICES},
                    }
                )


def count_rows(path):
    time.sleep(0.4)
    with open(path, newline="") as sheet:
        return sum(1 for _ in sheet) - 1


def open_sheet(path):
    time.sleep(0.4)
    return csv.DictReader(Path(path).read_text().splitlines())


def weakest_voice(rows):
    sums = dict.fromkeys(VOICES, 0)
    for row in rows:
        for voice in VOICES:
            sums[voice] += int(row[voice])
    return min(sums, key=sums.get)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sheets(folder)
        paths = [str(path) for path in sorted(folder.glob("choir_*.csv"))]
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                print("rehearsals:", sum(client.gather(client.map(count_rows, paths))))
                sheets = client.gather(client.map(open_sheet, paths))
                for path, rows in zip(paths, sheets):
                    print(Path(path).stem, weakest_voice(rows))


if __name__ == "__main__":
    main()
