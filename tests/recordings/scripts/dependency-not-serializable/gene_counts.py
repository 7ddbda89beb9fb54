import gzip
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster


def write_reads(folder, lanes=4):
    for lane in range(lanes):
        with gzip.open(folder / f"lane{lane}.fq.gz", "wt") as fh:
            for i in range(200):
                fh.write(f"@r{i}\n{'ACGT'[i % 4] * 40}\n+\n{'I' * 40}\n")
    return sorted(map(str, folder.glob("*.gz")))


def read_lane(path):
    with gzip.open(path, "rt") as fh:
        return [line.strip() for n, line in enumerate(fh) if n % 4 == 1]


def quality_filter(reads):
    return (r for r in reads if "N" not in r)


def kmers(reads, k=5):
    counts = {}
    for r in reads:
        for i in range(len(r) - k):
            counts[r[i : i + k]] = counts.get(r[i : i + k], 0) + 1
    return counts


def merge(*parts):
    total = {}
    for p in parts:
        for k, v in p.items():
            total[k] = total.get(k, 0) + v
    return total


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cl,
        Client(cl) as client,
    ):
        workers = list(client.scheduler_info()["workers"])
        lanes = client.map(read_lane, write_reads(Path(tmp)), workers=workers[:1])
        clean = client.map(quality_filter, lanes, workers=workers[:1])
        counts = client.map(kmers, clean, workers=workers[1:])
        print(client.submit(merge, *counts).result(timeout=25))


if __name__ == "__main__":
    main()
