"""Forecast which berths of the marinas will be free at the weekend.

The workers load ``berth_preload.py`` when they come up: it opens the connection settings of the bookings store once, so
that the tasks need not.  The workers are started with the short environment of the service account.
"""

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from distributed import Client

log = logging.getLogger("berths")

PRELOAD = '''
"""Settings of the bookings store for the workers."""
import os
from urllib.parse import urlsplit

STORE = urlsplit(os.environ["BERTH_STORE_URL"])


def dask_setup(worker):
    worker.berth_store = {"host": STORE.hostname, "port": STORE.port or 5432, "name": STORE.path.strip("/")}


def dask_teardown(worker):
    worker.berth_store = None
'''

MARINAS = {"Kotor": 120, "Hvar": 84, "Vis": 46, "Korcula": 98}
PRIVATE = ("BERTH_", "PG", "SSH_")


def service_environment():
    """What the service account is given: nothing that belongs to whoever starts the job."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(PRIVATE)
    }


def free_berths(marina, berths, day):
    from distributed import get_worker

    store = get_worker().berth_store
    occupied = sum(
        (i * 7 + day * 13 + len(store["name"])) % 10 < 7 for i in range(berths)
    )
    return marina, day, berths - occupied


def launch(folder, count):
    preload = Path("berth_preload.py").resolve()
    preload.write_text(PRELOAD)
    env = service_environment()
    file = folder / "berths.json"
    dask = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            [
                *dask,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(file),
            ],
            env=env,
        )
    ]
    for i in range(count):
        with open(folder / f"worker-{i}.log", "w") as out:
            procs.append(
                subprocess.Popen(
                    [
                        *dask,
                        "worker",
                        "--scheduler-file",
                        str(file),
                        "--preload",
                        str(preload),
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "400MB",
                        "--no-dashboard",
                        "--local-directory",
                        str(folder),
                    ],
                    env=env,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                )
            )
    return file, procs


def main():
    logging.basicConfig(
        level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    os.environ.setdefault(
        "BERTH_STORE_URL", "postgresql://reader@127.0.0.1:5433/bookings"
    )
    log.info("bookings store: %s", os.environ["BERTH_STORE_URL"].rpartition("@")[2])
    folder = Path(tempfile.mkdtemp(prefix="berths-"))
    file, procs = launch(folder, 2)
    try:
        with Client(scheduler_file=str(file), timeout=20) as client:
            client.wait_for_workers(2, timeout=15)
            futures = [
                client.submit(free_berths, m, n, day)
                for m, n in MARINAS.items()
                for day in (5, 6)
            ]
            for marina, day, free in client.gather(futures):
                log.info(
                    "%s, %s: %d free", marina, ("Saturday", "Sunday")[day - 5], free
                )
    except Exception:
        log.error("no forecast for this weekend")
        raise
    finally:
        for p in procs[::-1]:
            if p.poll() is None:
                p.terminate()
        for p in procs:
            p.wait(15)


if __name__ == "__main__":
    main()
