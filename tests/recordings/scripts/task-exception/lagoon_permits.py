import json
import logging
import os
import tempfile
import threading
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("permits")
MAX_AGE = 4.0


class LeaseExpired(RuntimeError):
    pass


class Registry:
    """The harbour office's lease on the permit book, kept as a small file."""

    def __init__(self, folder):
        self.path = Path(folder) / "lease.json"
        self.path.write_text(json.dumps({"seq": "0000", "time": time.time()}))

    def renew(self):
        lease = json.loads(self.path.read_text())
        number = int(lease["seq"]) + 1
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps({"seq": f"{number:04x}", "time": time.time()}))
        os.replace(fresh, self.path)


def keep_alive(registry, stop):
    while not stop.wait(0.3):
        registry.renew()


def issue(lease_path, permit):
    age = time.time() - json.loads(Path(lease_path).read_text())["time"]
    if age > MAX_AGE:
        raise LeaseExpired(
            f"lease on the permit book is {age:.1f} s old, permit {permit} not issued"
        )
    time.sleep(1.0)
    return permit


def main():
    stop = threading.Event()
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
    ):
        with Client(cluster) as client:
            registry = Registry(folder)
            threading.Thread(
                target=keep_alive, args=(registry, stop), name="lease", daemon=True
            ).start()
            try:
                futures = client.map(issue, [str(registry.path)] * 36, range(36))
                log.info("%d permits issued", len(client.gather(futures)))
            finally:
                stop.set()


if __name__ == "__main__":
    main()
