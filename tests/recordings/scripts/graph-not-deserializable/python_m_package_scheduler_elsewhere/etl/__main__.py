"""python -m etl"""

import subprocess
import tempfile

from dask.distributed import Client

from .steps import clean, enrich


def main():
    # a shared scheduler lives in another folder, as on our server
    home = tempfile.mkdtemp()
    file = f"{home}/scheduler.json"
    cluster = [
        subprocess.Popen(
            ["dask", "scheduler", "--port", "0", "--no-dashboard"]
            + ["--scheduler-file", file],
            cwd=home,
        ),
        subprocess.Popen(
            ["dask", "worker", "--scheduler-file", file, "--nworkers", "2"], cwd=home
        ),
    ]
    try:
        client = Client(scheduler_file=file)
        client.wait_for_workers(2, timeout=60)
        rows = [{"ID": n, "Country": "DE"} for n in range(10)]
        cleaned = client.map(clean, rows)
        enriched = client.map(enrich, cleaned)
        print(client.gather(enriched)[:2])
    finally:
        for process in cluster:
            process.terminate()
        for process in cluster:
            process.wait()


if __name__ == "__main__":
    main()
