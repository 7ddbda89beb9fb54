"""Blur satellite tiles on workers that run under the platform's limits."""

import resource
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin


class PlatformLimits(WorkerPlugin):
    def setup(self, worker):
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        cap = used + 700 * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (cap, cap))


def tile(number, edge):
    rng = np.random.default_rng(number)
    return rng.integers(0, 255, (edge, edge), dtype=np.uint8)


def blur(image):
    wide = image.astype("float32")
    acc = np.zeros_like(wide, dtype="float64")
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            acc += np.roll(np.roll(wide, dy, 0), dx, 1)
    return (acc / 9).astype("uint8").mean()


def main():
    with tempfile.TemporaryDirectory() as tmp:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
                memory_limit="4GB",
            ) as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(PlatformLimits(), name="limits")
            edges = [512, 512, 1024, 1024, 512, 10000, 1024]
            images = [
                client.submit(tile, i, e, pure=False) for i, e in enumerate(edges)
            ]
            print([round(float(x), 2) for x in client.gather(client.map(blur, images))])


if __name__ == "__main__":
    main()
