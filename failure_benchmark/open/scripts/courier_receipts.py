"""Has workers write the receipts of couriers, and reads them."""

import glob
import os
import tempfile
import time

from dask.distributed import Client, LocalCluster


def write_receipt(folder, courier):
    time.sleep(0.2)
    with open(os.path.join(folder, f"receipt-{courier}.txt"), "w") as file:
        file.write(f"courier {courier}\n")


def order_receipts(client, folder, couriers):
    client.map(write_receipt, [folder] * len(couriers), couriers, pure=False)


if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="receipts-")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        order_receipts(client, folder, list(range(30)))
        time.sleep(6)
        found = glob.glob(os.path.join(folder, "receipt-*.txt"))
        if len(found) < 30:
            raise RuntimeError(f"only {len(found)} of 30 receipts were written")
        print(len(found))
