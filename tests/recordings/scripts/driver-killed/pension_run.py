import os
import signal
import threading
import time

from dask.distributed import Client, LocalCluster


def project(member):
    time.sleep(1.0)
    return member * 12 * 830


def end_of_allocation(pid, after):
    time.sleep(after)
    os.kill(pid, signal.SIGTERM)


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    slot = threading.Thread(
        target=end_of_allocation, args=(os.getpid(), 5), daemon=True
    )
    slot.start()
    futures = client.map(project, range(60))
    total = sum(client.gather(futures))
    print("liability", total)
    client.close()
    cluster.close()


if __name__ == "__main__":
    main()
