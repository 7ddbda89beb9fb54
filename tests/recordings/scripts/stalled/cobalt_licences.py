"""Render the cobalt drawings with the two licences that we have."""

import tempfile
import time

from distributed import Client, LocalCluster, Semaphore


def render(drawing, licences):
    with licences:
        time.sleep(0.3)
        return drawing, drawing * drawing


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
        licences = Semaphore(name="cobalt-cad", max_leases=2)
        for seat in ("viewer", "editor"):
            licences.acquire()
            print("checked out the", seat)
        futures = client.map(render, range(12), licences=licences)
        for drawing, size in client.gather(futures):
            print(drawing, size)
        licences.release()
        licences.release()


if __name__ == "__main__":
    main()
