"""Vat schedule of a tannery. One simulation takes its worker with it now and then; the second try mostly helps."""

import os
import tempfile
import time

from dask.distributed import Client, LocalCluster


def simulate_vat(vat, marks):
    time.sleep(0.3)
    flag = os.path.join(marks, f"tried-{vat}")
    if vat == 3 and not os.path.exists(flag):
        open(flag, "w").close()
        os._exit(1)
    hours = 36 + vat * 4
    return {"vat": vat, "hours": hours, "bark": "oak" if vat % 2 else None}


def summarise(vats):
    label = "/".join(sorted({v["bark"] for v in vats}))
    return label, sum(v["hours"] for v in vats)


def main():
    with tempfile.TemporaryDirectory() as marks:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                vats = client.map(simulate_vat, range(10), marks=marks)
                print(client.submit(summarise, vats).result())


if __name__ == "__main__":
    main()
