"""Inflow forecast of a chain of reservoirs.

The batch system gives the workers one after the other, so the job starts with the first and takes in the others as
they come.  The forecast is an ensemble: many short simulations per reservoir.
"""

import logging
import socket
import subprocess
import sys
import threading
import time

import dask
import numpy as np
from distributed import Client, as_completed

log = logging.getLogger("inflows")


class BatchQueue(threading.Thread):
    """Starts one more worker every few seconds, like the site's queue does."""

    def __init__(self, address, workers, gap):
        super().__init__(daemon=True)
        self.address, self.workers, self.gap = address, workers, gap
        self.processes = []
        self.stopped = threading.Event()

    def run(self):
        for number in range(self.workers):
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
                        f"slot-{number}",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "350MB",
                        "--no-dashboard",
                    ]
                )
            )

    def stop(self):
        self.stopped.set()
        self.join()
        for p in self.processes:
            p.terminate()
        for p in self.processes:
            p.wait(15)


def simulate(reservoir, member):
    rng = np.random.default_rng((reservoir, member))
    store, flow = 50.0, []
    for rain in rng.gamma(0.6, 4.0, size=4000):
        store += rain
        out = store * 0.06
        store -= out
        flow.append(out)
    time.sleep(0.15)  # the licence server is asked once per simulation
    return reservoir, float(np.mean(flow[-240:]))


def main(reservoirs=5, members=16):
    logging.basicConfig(level=logging.INFO)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
        ]
    )
    queue = BatchQueue(f"tcp://127.0.0.1:{port}", workers=3, gap=2)
    queue.start()
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
            Client(queue.address) as client,
        ):
            pairs = [(r, m) for r in range(reservoirs) for m in range(members)]
            futures = client.map(simulate, *zip(*pairs))
            client.wait_for_workers(1, timeout=30)
            flows = {}
            for i, future in enumerate(as_completed(futures), 1):
                reservoir, flow = future.result()
                flows.setdefault(reservoir, []).append(flow)
                if i % 40 == 0:
                    log.info(
                        "%d of %d, %d workers",
                        i,
                        len(futures),
                        len(client.scheduler_info()["workers"]),
                    )
            for reservoir in sorted(flows):
                low, high = np.percentile(flows[reservoir], [10, 90])
                print(f"reservoir {reservoir}: {low:.2f} to {high:.2f} m3/s")
    finally:
        queue.stop()
        scheduler.terminate()
        scheduler.wait(10)


if __name__ == "__main__":
    main()
