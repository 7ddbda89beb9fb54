"""Assays of ingots: each batch gets its own work folder, results go into one CSV file for the refinery."""

import argparse
import logging
import os
import random
import statistics

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("assays")


def lay_out_batches(root, count):
    """Pretends to be the spectrometer: one text file of readings for every batch."""
    os.makedirs(root, exist_ok=True)
    for batch in range(count):
        rng = random.Random(batch)
        with open(os.path.join(root, f"batch-{batch:02d}.txt"), "w") as out:
            for shot in range(60):
                out.write(f"{shot}\t{rng.gauss(99.2, 0.2):.4f}\n")
            if batch == 9:
                out.write("60\t99.1x8\n")


def read_shots(path):
    with open(path) as lines:
        for line in lines:
            shot, value = line.rstrip("\n").split("\t")
            yield int(shot), float(value)


def assay(batch, inbox, work):
    folder = os.path.join(work, f"batch-{batch:02d}")
    os.mkdir(folder)
    with open(os.path.join(folder, "shots.csv"), "x") as out:
        values = []
        for shot, value in read_shots(os.path.join(inbox, f"batch-{batch:02d}.txt")):
            out.write(f"{shot},{value}\n")
            values.append(value)
    return batch, round(statistics.mean(values), 4), round(statistics.pstdev(values), 4)


def report(rows, path):
    with open(path, "w") as out:
        out.write("batch,fineness,spread\n")
        for row in sorted(rows):
            out.write(",".join(map(str, row)) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=16)
    parser.add_argument("--root", default=os.getcwd())
    args = parser.parse_args()
    inbox, work = os.path.join(args.root, "inbox"), os.path.join(args.root, "work")
    lay_out_batches(inbox, args.batches)
    os.makedirs(work, exist_ok=True)

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="700MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        # the share is slow in the morning, therefore the retries
        futures = client.map(
            assay, range(args.batches), inbox=inbox, work=work, retries=2
        )
        rows = []
        for _, row in as_completed(futures, with_results=True):
            rows.append(row)
        report(rows, os.path.join(args.root, "assays.csv"))
        print(f"{len(rows)} batches in the report")


if __name__ == "__main__":
    main()
