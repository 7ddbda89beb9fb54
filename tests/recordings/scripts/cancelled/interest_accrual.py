"""Accrue daily interest; an operator may stop the run from the console."""

import signal
import threading
import time
import os

from dask.distributed import Client, LocalCluster


def accrue(account):
    time.sleep(0.2)
    return account, round(1000 * (account % 9) * 0.0001, 4)


def operator_console():
    time.sleep(6)
    print("console: stop requested by shift lead", flush=True)
    os.kill(os.getpid(), signal.SIGINT)


def main():
    threading.Thread(target=operator_console, daemon=True).start()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = client.map(accrue, range(150))
        print(len(client.gather(futures)))


if __name__ == "__main__":
    main()
