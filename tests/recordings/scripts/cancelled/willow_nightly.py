"""Nightly willow reconciliation. The window is given by the host's night shift."""

import os
import signal
import tempfile
import threading
import time

from distributed import Client, LocalCluster, as_completed

WINDOW = 8


def reconcile(account):
    time.sleep(1)
    return account, account % 3 == 0


def end_of_shift():
    os.kill(os.getpid(), signal.SIGINT)


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        shift = threading.Timer(WINDOW, end_of_shift)
        shift.daemon = True
        shift.start()
        done = 0
        for future in as_completed(client.map(reconcile, range(80))):
            future.result()
            done += 1
            if done % 5 == 0:
                print("reconciled", done, flush=True)
        shift.cancel()


if __name__ == "__main__":
    main()
