"""Nightly calibration of tide gauges on a cluster that this job brings up for itself."""

import json
import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DATUMS = {"brest": 0.42, "cuxhaven": -0.11, "harwich": 0.07, "ostend": 0.19}


def read_gauge(station, day):
    time.sleep(0.2)
    return {
        "station": station,
        "levels": [1.0 + 0.01 * day + 0.1 * i for i in range(200)],
    }


def reduce_to_datum(raw, datums):
    offset = datums[raw["station"]]
    return raw["station"], sum(v - offset for v in raw["levels"]) / len(raw["levels"])


def start_cluster(folder):
    sfile = os.path.join(folder, "scheduler.json")
    procs = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_scheduler",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                sfile,
            ]
        )
    ]
    while not os.path.exists(sfile):
        time.sleep(0.2)
    for i in range(2):
        procs.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    "--scheduler-file",
                    sfile,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--dashboard-address",
                    ":0",
                    "--local-directory",
                    folder,
                    "--name",
                    f"gauge-{i}",
                ]
            )
        )
    return sfile, procs


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        sfile, procs = start_cluster(folder)
        client = Client(scheduler_file=sfile)
        try:
            client.wait_for_workers(2, timeout=60)
            stations = ["brest", "cuxhaven", "harwich", "ostend", "vlissingen"]
            raws = [client.submit(read_gauge, s, d) for s in stations for d in range(6)]
            done = client.map(reduce_to_datum, raws, datums=DATUMS)
            levels = client.gather(done)
            print(json.dumps(levels))
        finally:
            print("tearing the cluster down", flush=True)
            for p in reversed(procs):
                p.terminate()
            for p in procs:
                try:
                    p.wait(6)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
            client.close(timeout=3)


if __name__ == "__main__":
    main()
