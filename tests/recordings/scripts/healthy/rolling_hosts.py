import subprocess
import sys
import tempfile
import time

from distributed import Client, as_completed


def price_lane(lane):
    time.sleep(0.5)
    return lane, 100 + lane * 0.7


def main():
    tmp = tempfile.mkdtemp(prefix="lanes")
    sf = tmp + "/s.json"
    run = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            run + ["scheduler", "--port", "0", "--scheduler-file", sf, "--no-dashboard"]
        )
    ]
    rolling = ["--lifetime", "8s", "--lifetime-stagger", "1s", "--lifetime-restart"]
    for i in range(2):
        procs.append(
            subprocess.Popen(
                run
                + [
                    "worker",
                    "--scheduler-file",
                    sf,
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "300MB",
                    "--no-dashboard",
                    "--local-directory",
                    tmp,
                    "--name",
                    f"lane-{i}",
                    *(rolling if i else []),
                ]
            )
        )
    try:
        with Client(scheduler_file=sf, timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            futs = client.map(price_lane, range(50))
            rows = [f.result() for f in as_completed(futs, timeout=45)]
            print("priced", len(rows))
    finally:
        for p in procs[1:] + procs[:1]:
            p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()
