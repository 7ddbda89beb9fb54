"""Fetches old telegrams from a reading room whose scanner often answers 'busy'."""

import tempfile
import time
from pathlib import Path

import dask
from dask import delayed
from dask.distributed import Client, LocalCluster


class ScannerBusy(ConnectionError):
    pass


@delayed
def fetch(box, desk):
    time.sleep(0.15)
    tries = Path(desk) / f"{box}.tries"
    with open(tries, "a") as log:
        log.write("x")
    if box % 3 == 0 and tries.stat().st_size < 3:
        raise ScannerBusy(f"scanner busy with another reader (box {box})")
    return ["stop".join(["sold", "wheat", str(box)])] * (box + 1)


@delayed
def words(telegrams):
    return sum(len(telegram) for telegram in telegrams)


@delayed
def total(counts):
    return sum(counts)


def main():
    with tempfile.TemporaryDirectory() as desk:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                client.wait_for_workers(2)
                boxes = [fetch(box, desk) for box in range(24)]
                with dask.annotate(retries=4):
                    counted = total([words(box) for box in boxes])
                future = client.compute(counted, retries=4, optimize_graph=False)
                print("letters:", future.result())
                tries = sum(path.stat().st_size for path in Path(desk).glob("*.tries"))
                print("boxes:", len(boxes), "requests:", tries)


if __name__ == "__main__":
    main()
