"""Bird ringing recoveries; the station server is known to stutter, so reads are retried."""

import os
import tempfile
import time

from dask.distributed import Client, LocalCluster


def read_station(folder, station):
    marker = os.path.join(folder, f"{station}.seen")
    if station % 3 == 0 and not os.path.exists(marker):
        open(marker, "w").close()
        print(f"ERROR station {station}: connection reset by peer", flush=True)
        raise ConnectionResetError(f"station {station} closed the connection")
    time.sleep(0.1)
    return station, 30 + station


def main():
    with tempfile.TemporaryDirectory() as folder:
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                futures = client.map(read_station, [folder] * 15, range(15), retries=2)
                print("recoveries", sum(n for _, n in client.gather(futures)))


if __name__ == "__main__":
    main()
