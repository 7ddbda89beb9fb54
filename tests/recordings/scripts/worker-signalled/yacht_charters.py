"""Price next season's yacht charters and archive the old quotes.

Two small clusters work at the same time: "archive" compresses last year's
quotes, "pricing" computes the weekly prices.  At half past, the office's
housekeeping sweeps the run folder, as it does on every machine.
"""

import gzip
import json
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask
from distributed import Client, LocalCluster, WorkerPlugin

log = logging.getLogger("charters")
YACHTS = ["Aurelia", "Bora", "Calypso", "Dione", "Elektra", "Fulmar"]
RUN = Path("run")

HOUSEKEEPING = '''
"""Sweep of run folders: processes that hold a stale lease are asked to stop."""
import os, pathlib, signal, sys, time

limit = float(sys.argv[2])
for lease in sorted(pathlib.Path(sys.argv[1]).glob("*.lease")):
    if time.time() - lease.stat().st_mtime > limit:
        pid = int(lease.read_text())
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        lease.unlink()
'''


class Lease(WorkerPlugin):
    """Each worker leaves its process id where the desk can see who works."""

    name = "lease"

    def __init__(self, folder, team):
        self.folder, self.team = str(folder), team

    def setup(self, worker):
        with open(
            os.path.join(self.folder, f"{self.team}-{worker.name}.lease"), "w"
        ) as f:
            f.write(str(os.getpid()))


def price_week(yacht, week):
    time.sleep(0.4)
    season = 1.0 + 0.8 * max(0, 1 - abs(week - 31) / 14)
    return yacht, week, round(1900 * season * (1 + len(yacht) / 40), 2)


def pack_quotes(year, part):
    time.sleep(0.2)
    rows = [{"year": year, "part": part, "quote": n} for n in range(2000)]
    return len(gzip.compress(json.dumps(rows).encode()))


def start(team, workers):
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit="300MB",
        dashboard_address=None,
        name=team,
    )
    client = Client(cluster, set_as_default=False)
    client.register_plugin(Lease(RUN.resolve(), team))
    return cluster, client


def archive(out):
    cluster, client = start("archive", 1)
    try:
        sizes = client.gather(client.map(pack_quotes, [2025] * 20, range(20)))
        out["archived"] = sum(sizes)
        log.info("archive: %d bytes", out["archived"])
    finally:
        client.close()
        cluster.close()
        for lease in RUN.glob("archive-*.lease"):
            lease.unlink(missing_ok=True)


def sweep_later(archiver, delay):
    archiver.join()
    time.sleep(delay)
    done = subprocess.run([sys.executable, "housekeeping.py", str(RUN), "3"])
    log.info("housekeeping ended with %s", done.returncode)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s"
    )
    RUN.mkdir(exist_ok=True)
    Path("housekeeping.py").write_text(HOUSEKEEPING.lstrip())
    out = {}
    archiver = threading.Thread(target=archive, args=(out,), name="archive")
    archiver.start()
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster, client = start("pricing", 2)
    sweeper = threading.Thread(target=sweep_later, args=(archiver, 5), name="sweep")
    sweeper.start()
    try:
        prices = [
            client.submit(price_week, y, w) for y in YACHTS for w in range(14, 44)
        ]
        table = client.gather(prices)
        Path("prices.json").write_text(json.dumps(table))
    except Exception as e:
        log.error("no price list this time: %s", type(e).__name__)
        raise SystemExit(2)
    finally:
        archiver.join()
        sweeper.join()
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
