"""Grade dried ginseng roots by age and mass. The drying sheds' machines join when they have finished their own work."""

import collections
import logging
import random
import subprocess
import sys
import tempfile
import threading
import time

from dask.distributed import Client, LocalCluster, as_completed

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("ginseng")


class Sheds:
    """One worker after the other, as machines become free."""

    def __init__(self, address, names, gap):
        self.address, self.names, self.gap = address, names, gap
        self.processes = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._join_in, daemon=True)

    def _join_in(self):
        for name in self.names:
            if self.stopped.wait(self.gap):
                return
            self.processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        self.address,
                        "--name",
                        name,
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "300MB",
                        "--no-dashboard",
                        "--local-directory",
                        tempfile.mkdtemp(dir="."),
                    ]
                )
            )
            log.info("%s joins", name)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.stopped.set()
        self.thread.join()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(15)


def weigh(tray):
    rng = random.Random(tray)
    time.sleep(0.15)
    return [(rng.randint(3, 9), rng.uniform(8, 70)) for _ in range(2000)]


def grade_tray(roots):
    time.sleep(0.15)
    grades = collections.Counter()
    for age, grams in roots:
        grades[
            "heaven" if age >= 6 and grams > 40 else "earth" if age >= 5 else "good"
        ] += 1
    return grades


def main():
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        with Sheds(
            cluster.scheduler_address,
            ["shed-north", "shed-mill", "shed-river"],
            gap=2.5,
        ):
            trays = client.map(weigh, range(60))
            futures = client.map(grade_tray, trays)
            try:
                client.wait_for_workers(3, timeout=1.0)
            except TimeoutError:
                log.info("not all sheds are there yet, go on with those that come")
            total = collections.Counter()
            for number, future in enumerate(as_completed(futures), 1):
                total.update(future.result())
                if number % 20 == 0:
                    log.info(
                        "%d trays, %d workers",
                        number,
                        len(client.scheduler_info(n_workers=-1)["workers"]),
                    )
            client.cancel(trays)
            assert sum(total.values()) == 60 * 2000
            log.info("grades: %s", dict(total))


if __name__ == "__main__":
    main()
