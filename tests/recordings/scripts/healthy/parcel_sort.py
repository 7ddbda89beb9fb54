import os
import signal
import subprocess
import sys
import tempfile

from dask.distributed import Client


def sort_parcels(bag):
    return sorted(bag, reverse=True)


def main():
    folder = tempfile.mkdtemp(prefix="parcel-")
    sfile = os.path.join(folder, "sched.json")
    cmd = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        cmd + ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", sfile]
    )
    workers = [
        subprocess.Popen(
            cmd
            + [
                "worker",
                "--scheduler-file",
                sfile,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--no-nanny",
            ]
        )
        for _ in range(2)
    ]
    try:
        client = Client(scheduler_file=sfile, timeout=20)
        client.wait_for_workers(2, timeout=20)
        bags = client.map(sort_parcels, [[k, 3, k + 5] for k in range(30)])
        print("heaviest", max(b[0] for b in client.gather(bags)))
    finally:
        for p in workers:
            p.send_signal(signal.SIGKILL)
        scheduler.send_signal(signal.SIGTERM)
        for p in workers + [scheduler]:
            p.wait(15)


if __name__ == "__main__":
    main()
