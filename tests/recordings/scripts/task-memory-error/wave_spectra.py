import resource
import time

import numpy as np
from distributed import Client, LocalCluster, WorkerPlugin, Worker


class NodePolicy(WorkerPlugin):
    """Site policy from the HPC admins."""

    name = "node-policy"

    def setup(self, worker: Worker):
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        cap = used + 250 * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (cap, cap))


def buoy_series(buoy, n):
    t = np.arange(n, dtype="f4") / 2.0
    return np.sin(t / (3 + buoy)).astype("f4")


def welch(series):
    time.sleep(0.1)
    spec = np.abs(np.fft.rfft(series.astype("f8"))) ** 2
    return int(spec.argmax())


def run():
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="1GB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(NodePolicy())
        sizes = [2**18, 2**18, 2**25, 2**18]
        series = client.map(buoy_series, range(4), sizes)
        peaks = client.map(welch, series)
        print("peak bins", client.gather(peaks))


if __name__ == "__main__":
    run()
