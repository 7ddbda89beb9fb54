"""Count the juniper stock. One run at a time: a folder beside the data is the lock."""

import os
import tempfile
import time

from distributed import Client, LocalCluster


def count_shelf(shelf):
    return sum(box["bottles"] for box in shelf["boxes"])


def shelves():
    for n in range(12):
        boxes = [{"bottles": 6 + b} for b in range(5)]
        if n == 8:
            boxes[3]["bottles"] = "6"
        yield {"shelf": n, "boxes": boxes}


def run_once(client, lock):
    os.mkdir(lock)
    total = sum(client.gather(client.map(count_shelf, list(shelves()))))
    os.rmdir(lock)
    return total


def main(attempts=2):
    with tempfile.TemporaryDirectory() as tmp:
        lock = os.path.join(tmp, "stock.lock")
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            for attempt in range(1, attempts + 1):
                try:
                    print("bottles:", run_once(client, lock))
                    return
                except Exception:
                    if attempt == attempts:
                        raise (
                            SystemExit(f"could not take {lock}")
                            if os.path.exists(lock)
                            else RuntimeError("no count")
                        )
                    time.sleep(1)


if __name__ == "__main__":
    main()
