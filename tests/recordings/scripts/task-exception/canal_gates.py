"""Water use of canal locks: a table of chamber sizes first, then passages against it."""

import json
import logging
import os
import tempfile
import time

from dask.distributed import Client, LocalCluster

log = logging.getLogger("canal")


def load_chambers(path):
    with open(path) as f:
        rows = json.load(f)
    return {r["lock"]: r["length"] * r["width"] * r["lift"] for r in rows}


def passages(lock, day):
    time.sleep(0.2)
    return lock, (hash((len(lock), day)) % 9) + 3


def water_used(done, chambers):
    used = {}
    for lock, n in done:
        if lock in chambers:
            used[lock] = used.get(lock, 0) + n * chambers[lock]
    return used


def report(used):
    total = sum(used.values())
    busiest = max(used, key=used.get)
    return f"{total:.0f} m3 in all, most at {busiest}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chambers.json")
        with open(path, "w") as f:  # the export of the asset system was cut off
            f.write(
                '[{"lock": "upper", "length": 38.5, "width": 5.1, "lift": 2.6}, {"lock": "middle", "leng'
            )
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                try:
                    chambers = client.submit(load_chambers, path).result()
                except Exception as e:
                    log.warning("chambers not loaded (%s), going on without", e)
                    chambers = {}
                locks = ["upper", "middle", "lower"]
                done = client.gather(
                    [client.submit(passages, k, d) for k in locks for d in range(7)]
                )
                used = client.submit(water_used, done, chambers).result()
                print(report(used))


if __name__ == "__main__":
    main()
