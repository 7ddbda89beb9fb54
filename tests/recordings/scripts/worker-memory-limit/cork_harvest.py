"""Cork harvest: sums the scanned slabs (with a checkpoint, they are large), then prices the sums."""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker


def load_prices(dask_worker):
    dask_worker.cork_prices = {"natural": 3.1, "agglomerate": 0.9}
    return len(dask_worker.cork_prices)


def sum_slabs(folder, parcel):
    checkpoint = Path(folder) / f"{parcel}.json"
    state = (
        json.loads(checkpoint.read_text())
        if checkpoint.exists()
        else {"slabs": 0, "total": 0.0}
    )
    slabs = []
    while state["slabs"] < 16:
        slab = np.ones(5_000_000) * (state["slabs"] + 1)
        slabs.append(slab)
        state = {
            "slabs": state["slabs"] + 1,
            "total": state["total"] + float(slab.sum()),
        }
        checkpoint.write_text(json.dumps(state))
        time.sleep(0.25)
    return state["total"]


def price(total, quality):
    return total * get_worker().cork_prices[quality]


def main():
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit="600MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            print("price lists loaded:", client.run(load_prices))
            total = client.submit(sum_slabs, folder, "estremoz")
            print("cork:", total.result(timeout=55))
            print("worth:", client.submit(price, total, "natural").result(timeout=20))


if __name__ == "__main__":
    main()
