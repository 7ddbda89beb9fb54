"""Restock exercise of the aspen depot: one worker is taken away while the plan is computed."""

import os
import signal
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster


def restock(shelf, folder):
    time.sleep(0.2)
    marker = Path(folder) / "drill"
    if shelf == 5 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return shelf * 4


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
        plan = client.gather(client.map(restock, range(20), folder=tmp))
        assert plan == [4 * n for n in range(20)]
        client.wait_for_workers(2, timeout=90)
        print("plan", sum(plan))


if __name__ == "__main__":
    main()
