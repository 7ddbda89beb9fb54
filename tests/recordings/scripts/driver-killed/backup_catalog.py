import os
import signal
import threading
import time

from dask.distributed import Client, LocalCluster


def verify(volume):
    time.sleep(1)
    return volume, "ok"


def operator_console(pid):
    time.sleep(4)
    os.kill(pid, signal.SIGINT)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    volumes = client.map(verify, range(40))
    threading.Thread(target=operator_console, args=(os.getpid(),), daemon=True).start()
    try:
        states = client.gather(volumes)
        print("verified", len(states))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
