"""Move pallets using external workers; idle ones are scaled in after the first wave."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster


def plan_move(pallet):
    time.sleep(0.4)
    return pallet % 12, pallet


def start_worker(address, name, tmp):
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "worker",
            address,
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--name",
            name,
            "--local-directory",
            tmp,
        ]
    )


def scale_in(client, procs, keep):
    """Stop every external worker that is not in `keep`."""
    info = client.scheduler_info()["workers"]
    for w in info.values():
        if w["id"] not in keep:
            print("scaling in", w["id"])
            os.kill(procs[w["id"]].pid, signal.SIGTERM)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        with (
            LocalCluster(n_workers=0, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            procs = {
                n: start_worker(cluster.scheduler_address, n, tmp)
                for n in ("dock-1", "dock-2")
            }
            try:
                client.wait_for_workers(2, timeout=15)
                print(
                    len(client.gather(client.map(plan_move, range(4)))),
                    "urgent moves planned",
                )
                scale_in(client, procs, keep={"dock1"})
                rest = client.map(plan_move, range(100, 112))
                print([f.result(timeout=8) for f in rest])
            finally:
                for p in procs.values():
                    p.terminate()
                    p.wait(10)


if __name__ == "__main__":
    main()
