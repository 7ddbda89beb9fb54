import os
import shutil
import tempfile

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

ROWS = 4000


def write_day(folder, day):
    path = os.path.join(folder, f"readings-2026-10-{day:02d}.csv")
    with open(path, "w") as fh:
        fh.write("meter_id,site,kwh\n")
        for i in range(ROWS):
            meter = str(70000 + i)
            if day == 3 and i > ROWS - 6:
                meter += "-B"
            fh.write(f"{meter},S{i % 7},{(i * 37 % 900) / 10}\n")


def main():
    folder = tempfile.mkdtemp(prefix="meters-")
    for day in range(1, 6):
        write_day(folder, day)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        readings = dd.read_csv(os.path.join(folder, "readings-*.csv"))
        print("partitions:", readings.npartitions)
        per_site = readings.groupby("site").kwh.sum().compute()
        print(per_site.sort_index())
        busiest = readings.groupby("meter_id").kwh.sum().nlargest(10).compute()
        busiest.to_csv(os.path.join(folder, "busiest.csv"))
    finally:
        client.close()
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
